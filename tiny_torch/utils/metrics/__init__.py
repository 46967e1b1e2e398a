"""Figures of how well a model does, batch by batch.

from tiny_torch.metrics import Accuracy
accuracy = Accuracy()
for images, targets in batches:
    accuracy.update(model(images), targets)
print(accuracy.compute())
"""

from tiny_torch.utils.metrics.aggregation import Mean as Mean
from tiny_torch.utils.metrics.aggregation import Perplexity as Perplexity
from tiny_torch.utils.metrics.auroc import AUROC as AUROC
from tiny_torch.utils.metrics.classification import F1 as F1
from tiny_torch.utils.metrics.classification import Accuracy as Accuracy
from tiny_torch.utils.metrics.classification import ConfusionMatrix as ConfusionMatrix
from tiny_torch.utils.metrics.classification import Precision as Precision
from tiny_torch.utils.metrics.classification import Recall as Recall
from tiny_torch.utils.metrics.metric import Metric as Metric
