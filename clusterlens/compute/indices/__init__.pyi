from .agreement_reached import (
    PoolAgreement as PoolAgreement,
    pool_agreement as pool_agreement,
)
from .borders import border_ratios as border_ratios
from .class_match import (
    LabelCheck as LabelCheck,
    label_match as label_match,
)
from .evidence import (
    LabelEvidence as LabelEvidence,
    label_evidence as label_evidence,
    merge_classes as merge_classes,
    merge_gains as merge_gains,
)
from .indices import (
    INDICES as INDICES,
    IndexValue as IndexValue,
    external_index as external_index,
    internal_index as internal_index,
)
from .label_anchors import (
    LABEL_ANCHORS as LABEL_ANCHORS,
    LabelAnchor as LabelAnchor,
)
from .model_comparison import compare_models as compare_models
from .pair_view import (
    PairView as PairView,
    class_pair_view as class_pair_view,
)
