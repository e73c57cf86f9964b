from .labelling import label_rows as label_rows
from .landmark_table import draw_landmarks as draw_landmarks
from .result import ScaledRun as ScaledRun
from .run import run_at_scale as run_at_scale
from .run_landmarks import read_landmarks as read_landmarks
