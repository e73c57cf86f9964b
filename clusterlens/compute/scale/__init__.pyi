from .result import ScaledRun as ScaledRun
from .run import run_at_scale as run_at_scale
