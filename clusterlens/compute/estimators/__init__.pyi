from .border_peeling import BorderPeeling as BorderPeeling
from .cns.cns import CNS as CNS
from .cns.criterion import CriterionGrid as CriterionGrid
from .cns.graph import CNSGraph as CNSGraph
from .cns.live import LiveSolution as LiveSolution, SmoothingStep as SmoothingStep
from .constrained_k_means import ConstrainedKMeans as ConstrainedKMeans
from .constrained_spectral import ConstrainedSpectral as ConstrainedSpectral
from .fuzzy_c_means import FuzzyCMeans as FuzzyCMeans
from .genie import Genie as Genie
from .graph_communities import GraphCommunities as GraphCommunities
from .knn_mean_shift import KNNMeanShift as KNNMeanShift
from .link_metric import LinkMetric as LinkMetric
from .selected_models import (
    HDBSCANDBCV as HDBSCANDBCV,
    GaussianMixtureBIC as GaussianMixtureBIC,
    KMeansSilhouette as KMeansSilhouette,
)
from .selective_nn import SelectiveNN as SelectiveNN
from .spherical_k_means import SphericalKMeans as SphericalKMeans
from .spuds import SPUDS as SPUDS
from .torque import TorqueClustering as TorqueClustering
