"""Model files: one safetensors file a model, without pickle.

Arrays are tensors, everything else is one JSON text beside them; see `container` for the bytes and `models`
for the contents. Nothing in a file is ever executed, and everything is checked before it is used.
"""

from hedgerow.container import ModelFileError
from hedgerow.files.models import load, save

__all__ = ["ModelFileError", "load", "save"]
