ARG PYTHON=python:3.13-slim-trixie

FROM ${PYTHON} AS build
WORKDIR /srv/exactperm
COPY requirements/main.txt requirements/main.txt
# The virtual environment gets no pip of its own. What only tests, type checkers and compilers read stays behind, and so
# does scipy.io: readers of MATLAB, WAV and Matrix Market files.
RUN python -m venv --without-pip .venv \
 && python -m pip --python .venv/bin/python install --no-cache-dir --disable-pip-version-check --no-compile \
      --only-binary :all: --require-hashes --requirement requirements/main.txt \
 && rm -rf requirements \
 && find .venv -type d \( -name tests -o -path '*/flint/test' -o -path '*/numpy/_core/include' -o -path '*/scipy/io' \) \
      -prune -exec rm -rf {} + \
 && find .venv -type f \( -name '*.pyi' -o -name '*.pxd' -o -name '*.a' \) -delete \
 && .venv/bin/python -B -c 'import flint, numpy.testing, scipy.fft, scipy.optimize, scipy.signal, scipy.special, scipy.stats'
COPY LICENSE LICENSE
COPY app app
# Bytecode, never checked against its source, because nothing in the image changes. Of the large libraries only the
# modules that the service imports get theirs; importing them all also proves that nothing it needs stayed behind.
RUN python -m compileall -q -j 0 --invalidation-mode unchecked-hash -x '/(flint|numpy|scipy|pydantic/v1)/' .venv/lib app \
 && .venv/bin/python -B -c 'import app, importlib, pkgutil, py_compile, sys; \
      names = [m.name for m in pkgutil.walk_packages(app.__path__, "app.") if m.name != "app.__main__"]; \
      print(*map(importlib.import_module, names), sep="\n"); \
      files = {str(getattr(module, "__file__", None)) for module in list(sys.modules.values())}; \
      mode = py_compile.PycInvalidationMode.UNCHECKED_HASH; \
      [py_compile.compile(f, doraise=True, invalidation_mode=mode) for f in files if "/.venv/" in f and f.endswith(".py")]'

FROM ${PYTHON}
LABEL org.opencontainers.image.title="exactperm" \
      org.opencontainers.image.description="Exact paired-permutation p-values over HTTP" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="MIT"
ENV PATH=/srv/exactperm/.venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    EXACTPERM_HOST=0.0.0.0 \
    EXACTPERM_PORT=8000
# Nothing is installed in this image: its own pip is only something to keep up to date.
RUN python -m pip uninstall --yes --quiet --root-user-action ignore pip \
 && useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin exactperm
WORKDIR /srv/exactperm
COPY --from=build /srv/exactperm .
USER 10001:10001
EXPOSE 8000
# http.client, because urllib would follow an http_proxy variable.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import http.client, os, sys; c = http.client.HTTPConnection('127.0.0.1', int(os.environ['EXACTPERM_PORT']), timeout=4); c.request('GET', '/healthz'); sys.exit(c.getresponse().status != 200)"]
CMD ["python", "-m", "app"]
