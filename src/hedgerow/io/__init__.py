"""Model files: one safetensors file per model, without pickle.

Arrays are tensors; everything else is one JSON text beside them. `hedgerow.container` defines the bytes,
`models` the contents. Every kind of model has its own codec, built from sections that several share. Nothing
in a file is executed, and everything is checked before it is used.
"""

from hedgerow.container import ModelFileError
from hedgerow.estimators.checkpoint import register_store
from hedgerow.io.checkpoints import ModelStore
from hedgerow.io.models import load, load_card, load_certificate, save

register_store(ModelStore())  # fits with a checkpoint write model files

__all__ = ["ModelFileError", "load", "load_card", "load_certificate", "save"]
