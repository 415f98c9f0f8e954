"""Several baselines: the candidate is tested against each of them, and nothing is decided until all can be.

In JSON `against` has a column under each baseline's name, which takes the place of `v`; in a form every file `against`
is a baseline.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pydantic import BaseModel, create_model

from ...errors import Flaw, InvalidTest, pointer_token
from ...inputs.formats.reader import UploadedFile
from ...inputs.quoting import quoted
from ..compare.names import require_names
from ..messages import TestKind
from ..multipart import Form
from ..parse_files import option_pointer
from ..pointers import PointerMap
from ..schema.requests import REQUEST_MODELS, AnyRequest, CountsRequest, Names, PredictionsRequest, ScoresRequest
from ..schema.wire import Wire
from ..validation import validated
