ARG PYTHON=python:3.13-slim-trixie

FROM ${PYTHON} AS build
# serve adds jobs and the readers of transcripts (asr), texts (mt) and runs with qrels (trec).
ARG REQUIREMENTS=main
WORKDIR /srv/exactperm
COPY requirements/${REQUIREMENTS}.txt requirements/
# The virtual environment has no pip.
RUN python -m venv --without-pip .venv \
 && python -m pip --python .venv/bin/python install --no-cache-dir --disable-pip-version-check --no-compile \
      --only-binary :all: --require-hashes --requirement requirements/${REQUIREMENTS}.txt \
 && rm -rf requirements
# Delete files that no request needs, but keep the packages' metadata with licences. Of SciPy only fft and special are used. SciPy and
# NumPy include the same Fortran library: keep one copy. The check below fails if a needed file was deleted.
RUN cd .venv/lib/python3*/site-packages \
 && find . -type d \( -name tests -o -path './flint/test' -o -path './numpy/_core/include' \) -prune -exec rm -rf {} + \
 && find . -type f -regex '.*\.\(pyi\|pxd\|pyx\|[ach]\)' -delete \
 && find scipy -mindepth 1 -maxdepth 1 -type d ! -name _lib ! -name fft ! -name special -exec rm -rf {} + \
 && rm -f numpy/_core/_simd.*.so numpy/_core/*_tests.*.so scipy/special/cython_special.*.so \
 && cd scipy.libs \
 && for library in *; do \
      if ! grep -RqF --exclude="$library" "$library" . ../scipy; then rm "$library"; \
      elif cmp -s "$library" "../numpy.libs/$library"; then ln -sf "../numpy.libs/$library" "$library"; fi; done
# The command line, which works in any folder. -P: import nothing from the current folder.
RUN printf '%s\n' '#!/bin/sh' 'exec /srv/exactperm/.venv/bin/python -P -m exactperm.cli "$@"' \
      > .venv/bin/exactperm \
 && chmod +x .venv/bin/exactperm \
 && echo /srv/exactperm/app > "$(echo .venv/lib/python3*/site-packages)/exactperm.pth"
COPY LICENSE LICENSE
COPY app app
COPY docs docs
COPY .ci/image_check.py openapi/examples /check/
# Start the service and send it every kind of request. Compile the loaded modules to bytecode that is never compared
# with the sources, because the image does not change; other modules have no bytecode.
RUN PATH=$PWD/.venv/bin:$PATH python /check/image_check.py /check \
 && find .venv app -name '*.pyc' | sed -E 's:__pycache__/(.+)\.[^.]+\.pyc$:\1.py:' > /check/loaded \
 && .venv/bin/python -m compileall -q -f --invalidation-mode unchecked-hash -i /check/loaded

FROM ${PYTHON}
# exactperm is MIT. FLINT, GMP and MPFR, which python-flint includes as shared libraries, are LGPL-3.0-or-later; all licences are in
# the packages' metadata. DejaVu Sans, the font of pictures, has a separate licence (app/exactperm/reports/picture/dejavu).
LABEL org.opencontainers.image.title="exactperm" \
      org.opencontainers.image.description="Exact paired-permutation p-values over HTTP" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="MIT AND LGPL-3.0-or-later"
# In a container the service listens on all addresses; publishing the port makes it reachable. With API keys
# (EXACTPERM_API_KEY_DIGESTS) it refuses other callers; with EXACTPERM_ALLOW_ANONYMOUS=false it does not start without keys.
ENV PATH=/srv/exactperm/.venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    EXACTPERM_HOST=0.0.0.0 \
    EXACTPERM_PORT=8000
# Remove pip, which this image does not need.
RUN python -m pip uninstall --yes --quiet --root-user-action ignore pip \
 && useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin exactperm
WORKDIR /srv/exactperm
COPY --from=build /srv/exactperm .
USER 10001:10001
EXPOSE 8000
# Use http.client, because urllib would follow an http_proxy variable.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import http.client, os, sys; c = http.client.HTTPConnection('127.0.0.1', int(os.environ['EXACTPERM_PORT']), timeout=4); c.request('GET', '/readyz'); sys.exit(c.getresponse().status != 200)"]
CMD ["python", "-m", "exactperm"]
