"""Metrics: scikit-learn's figures, in any batches, merged; and refusals."""

import math

import numpy as np
import pytest
from tiny_torch.metrics import (
    AUROC,
    F1,
    Accuracy,
    ConfusionMatrix,
    Mean,
    Perplexity,
    Precision,
    Recall,
)

import tiny_torch as torch

CLASSES = 5


def samples(count=97, seed=0):
    """Scores with ties, targets without class 3 and predictions without class 4."""
    draw = np.random.default_rng(seed)
    targets = draw.choice([0, 1, 2, 4], count)
    scores = np.round(draw.random((count, CLASSES)) + np.eye(CLASSES)[targets] * 0.3, 1)
    scores[:, 4] -= 3
    return scores, targets


def streamed(metric, scores, targets, cuts=(10, 10, 60)):
    """The figure of batches, of which one is empty, and of two metrics merged."""
    parts = list(zip(np.split(scores, cuts), np.split(targets, cuts), strict=True))
    other = type(metric)(**metric.settings)
    for i, (input, target) in enumerate(parts):
        part = other if i % 2 else metric
        part.update(torch.from_numpy(input.copy()), torch.from_numpy(target.copy()))
    return metric.merge(other).compute()


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", "none", None])
@pytest.mark.parametrize("metric", [Precision, Recall, F1])
@pytest.mark.parametrize("as_labels", [True, False])
def test_ratios_are_scikit_learns(metric, average, as_labels):
    sklearn = pytest.importorskip("sklearn.metrics")
    names = {Precision: "precision_score", Recall: "recall_score", F1: "f1_score"}
    scores, targets = samples()
    predicted = scores.argmax(1)
    each = average in ("none", None)
    expected = getattr(sklearn, names[metric])(
        targets,
        predicted,
        average=None if each else average,
        zero_division=0,
        labels=range(CLASSES) if each else None,
    )
    figure = streamed(metric(CLASSES, average), predicted if as_labels else scores, targets)
    assert (figure.tolist() if each else figure) == pytest.approx(expected, rel=1e-14)


def test_the_confusion_matrix_is_scikit_learns():
    sklearn = pytest.importorskip("sklearn.metrics")
    scores, targets = samples()
    expected = sklearn.confusion_matrix(targets, scores.argmax(1), labels=range(CLASSES))
    assert streamed(ConfusionMatrix(CLASSES), scores, targets).tolist() == expected.tolist()


@pytest.mark.parametrize("top_k", [1, 2, 3, 4])
def test_accuracy_is_scikit_learns(top_k):
    sklearn = pytest.importorskip("sklearn.metrics")
    scores, targets = samples()
    # a tie goes to the lower class here, to the higher one there
    expected = sklearn.top_k_accuracy_score(
        CLASSES - 1 - targets, scores[:, ::-1], k=top_k, labels=range(CLASSES)
    )
    assert streamed(Accuracy(top_k), scores, targets) == expected
    assert streamed(Accuracy(), scores.argmax(1), targets) == streamed(Accuracy(), scores, targets)


def test_auroc_is_scikit_learns():
    sklearn = pytest.importorskip("sklearn.metrics")
    scores, targets = samples()
    positive = (targets == 1).astype(int)
    expected = sklearn.roc_auc_score(positive, scores[:, 1])
    assert streamed(AUROC(), scores[:, 1], positive) == pytest.approx(expected, rel=1e-14)
    three = scores[:, :3] + 1
    targets = targets % 3
    three /= three.sum(1, keepdims=True)
    expected = sklearn.roc_auc_score(targets, three, multi_class="ovr", average="macro")
    assert streamed(AUROC(3), three, targets) == pytest.approx(expected, rel=1e-14)


def test_auroc_counts_infinite_scores_and_ties():
    metric = AUROC()
    metric.update(torch.tensor([-math.inf, 0.0, 0.0, math.inf]), torch.tensor([0, 0, 1, 1]))
    assert metric.compute() == 3.5 / 4


def test_perplexity_of_what_counts():
    torch.manual_seed(0)
    logits, targets = torch.randn(4, 6, 9), torch.randint(0, 9, (4, 6))
    targets[1, 2:] = -1
    metric, other = Perplexity(ignore_index=-1), Perplexity(ignore_index=-1)
    metric.update(logits[:2], targets[:2])
    metric.update(logits[:1], torch.full((1, 6), -1))
    other.update(logits[2:].requires_grad_(), targets[2:])
    flat, kept = logits.detach().double().reshape(-1, 9), targets.reshape(-1)
    mean = torch.nn.functional.cross_entropy(flat, kept, ignore_index=-1).item()
    assert metric.merge(other).compute() == pytest.approx(math.exp(mean), rel=1e-12)
    sure = Perplexity()
    sure.update(torch.tensor([[0.0, 1e4]]), torch.tensor([0]))
    assert sure.compute() == math.inf


def test_means():
    mean = Mean()
    mean.update(torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True))
    mean.update(10, weight=2)
    assert mean.compute() == 5.0
    mean.update(torch.full((3,), 0.1, dtype=torch.float16), weight=0)
    assert mean.compute() == 5.0
    mean.reset()
    with pytest.raises(RuntimeError, match=r"Mean\.compute: no samples"):
        mean.compute()


EMPTY = [
    Accuracy(), AUROC(), AUROC(3), ConfusionMatrix(2), F1(2), Precision(2), Recall(2), Mean(),
    Perplexity(),
]  # fmt: skip


@pytest.mark.parametrize("metric", EMPTY, ids=repr)
def test_nothing_counted_is_an_error_and_reset_forgets(metric):
    with pytest.raises(RuntimeError, match="no samples, call update first"):
        metric.compute()
    if not isinstance(metric, Mean | Perplexity):
        shape = (4, 3) if metric.settings.get("num_classes") == 3 else (4,)
        scores = torch.zeros(shape) if isinstance(metric, AUROC) else torch.tensor([0, 1, 1, 0])
        metric.update(scores, torch.tensor([0, 1, 0, 1]))
        assert metric.count == 4
        metric.reset()
        assert metric.count == 0


TWO, THREE = torch.tensor([0, 1]), torch.tensor([0, 1, 2])


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: Accuracy(0), ValueError, "top_k must be an int of at least 1, got 0"),
        (lambda: Accuracy(4).update(torch.zeros(2, 3), TWO), ValueError, "3 classes, top_k=4"),
        (lambda: Accuracy().update([0, 1], TWO), TypeError, "input must be a Tensor"),
        (lambda: Accuracy().update(TWO, THREE), ValueError, "2 inputs, but 3 targets"),
        (
            lambda: Accuracy().update(torch.zeros(3, 2), THREE),
            ValueError,
            "from 0 to 1, got 0 to 2",
        ),
        (lambda: Accuracy().update(torch.zeros(3, 2), TWO), ValueError, r"shape \(2, C\), got"),
        (lambda: Accuracy().update(torch.zeros(2), TWO), TypeError, "must hold integers"),
        (lambda: Accuracy().update(TWO, TWO.view(1, 2)), ValueError, r"\(N,\), got \(1, 2\)"),
        (lambda: Accuracy().update(torch.zeros(2, 2) * math.nan, TWO), ValueError, "holds NaN"),
        (lambda: F1(1), ValueError, "num_classes must be an int of at least 2, got 1"),
        (lambda: F1(2, "mean"), ValueError, "average must be 'micro'"),
        (lambda: F1(2).update(THREE, THREE), ValueError, "target must be from 0 to 1"),
        (lambda: F1(3).update(TWO, TWO.float()), TypeError, "torch.float32"),
        (lambda: F1(3).update(torch.zeros(2, 2), TWO), ValueError, r"\(2, 3\), got \(2, 2\)"),
        (lambda: AUROC().update(torch.zeros(2, 2), TWO), ValueError, r"shape \(2\), got"),
        (lambda: AUROC(3).update(torch.zeros(2), TWO), ValueError, r"shape \(2, 3\), got"),
        (lambda: Perplexity().update(torch.zeros(2, 3), THREE), ValueError, r"\(3, C\), got"),
        (lambda: Perplexity().update(torch.zeros(3, 2), THREE), ValueError, "from 0 to 1"),
        (lambda: Mean().update(1.0, -1), ValueError, "weight must be at least 0"),
        (lambda: Mean().update("a"), TypeError, "value must be a Tensor, got 'a'"),
        (lambda: F1(2).merge(Recall(2)), TypeError, "got a Recall"),
        (lambda: F1(2).merge(F1(3)), ValueError, "num_classes=3.*differs from.*num_classes=2"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_class_without_samples_has_no_curve():
    metric = AUROC(3)
    metric.update(torch.zeros(2, 3), TWO)
    with pytest.raises(ValueError, match="0 samples of class 2 and 2 others"):
        metric.compute()


def test_a_refused_batch_or_merge_counts_nothing():
    metric = Accuracy()
    with pytest.raises(ValueError):
        metric.update(TWO, THREE)
    with pytest.raises(TypeError):
        metric.merge(Accuracy(), Mean())
    assert metric.count == 0
