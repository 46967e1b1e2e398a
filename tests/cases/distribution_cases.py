"""Distributions, their arguments and values within their support, and calls that are refused."""


def leaf(m, *values, dtype="float32"):
    return m.tensor(list(values), dtype=getattr(m, dtype), requires_grad=True)


def matrix(m):
    return m.tensor([[2.0, 0.5, 0.1], [0.5, 1.5, -0.3], [0.1, -0.3, 1.0]], requires_grad=True)


def factor(m):
    return m.tensor([[[1.5, 0.0], [0.3, 0.7]], [[1.0, 0.0], [-2.0, 2.0]]], requires_grad=True)


def affine(m, *arguments):
    return m.distributions.transforms.AffineTransform(*arguments)


# (name, constructor from the package and its leaves, leaves, values within the support)
TABLE = {
    "Bernoulli": (
        lambda d, p: d.Bernoulli(p),
        lambda m: [leaf(m, 0.1, 0.5, 0.9, 0.0, 1.0)],
        lambda m: m.tensor([1.0, 0, 1, 0, 1]),
    ),
    "Bernoulli logits": (
        lambda d, x: d.Bernoulli(logits=x),
        lambda m: [leaf(m, -3.0, 0.0, 2.0)],
        lambda m: m.tensor([[1.0, 0, 1], [0, 0, 0]]),
    ),
    "Bernoulli number": (
        lambda d: d.Bernoulli(0.25),
        lambda m: [],
        lambda m: m.tensor([1.0, 0]),
    ),
    "Beta": (
        lambda d, a, b: d.Beta(a, b),
        lambda m: [leaf(m, 0.5, 2.0, 3.0), leaf(m, 0.5, 1.0, 7.0)],
        lambda m: m.tensor([0.1, 0.5, 0.9]),
    ),
    "Beta number": (
        lambda d, a: d.Beta(a, 3),
        lambda m: [leaf(m, 0.5, 2.0)],
        lambda m: m.tensor([0.1, 0.5]),
    ),
    "Categorical": (
        lambda d, p: d.Categorical(p),
        lambda m: [m.tensor([[1.0, 2, 3], [0, 1, 0]], requires_grad=True)],
        lambda m: m.tensor([2, 1]),
    ),
    "Categorical logits": (
        lambda d, x: d.Categorical(logits=x),
        lambda m: [leaf(m, 1.0, 2.0, -3.0, 0.5)],
        lambda m: m.tensor([[2, 1], [0, 3]]),
    ),
    "Dirichlet": (
        lambda d, a: d.Dirichlet(a),
        lambda m: [m.tensor([[1.0, 2, 3], [0.5, 0.5, 0.25]], requires_grad=True)],
        lambda m: m.tensor([[0.25, 0.25, 0.5], [0.5, 0.375, 0.125]]),
    ),
    "Exponential": (
        lambda d, r: d.Exponential(r),
        lambda m: [leaf(m, 0.5, 2.0)],
        lambda m: m.tensor([[0.0, 1.0], [3.0, 0.25]]),
    ),
    "Gamma": (
        lambda d, a, r: d.Gamma(a, r),
        lambda m: [leaf(m, 0.5, 2.0, 30.0), leaf(m, 1.0, 0.5, 3.0)],
        lambda m: m.tensor([0.5, 1.0, 9.0]),
    ),
    "Gamma float64": (
        lambda d, a: d.Gamma(a, 2.0),
        lambda m: [leaf(m, 0.5, 2.0, 30.0, dtype="float64")],
        lambda m: m.tensor([0.5, 1.0, 9.0], dtype=m.float64),
    ),
    "Geometric": (
        lambda d, p: d.Geometric(p),
        lambda m: [leaf(m, 0.25, 0.75, 1.0)],
        lambda m: m.tensor([3.0, 0.0, 0.0]),
    ),
    "Geometric logits": (
        lambda d, x: d.Geometric(logits=x),
        lambda m: [leaf(m, -1.0, 1.0)],
        lambda m: m.tensor([3.0, 0.0]),
    ),
    "Independent": (
        lambda d, x, s: d.Independent(d.Normal(x, s), 1),
        lambda m: [m.tensor([[1.0, 2, 3], [0, 1, 0]], requires_grad=True), leaf(m, 1.0, 2, 3)],
        lambda m: m.ones(2, 3),
    ),
    "Independent 0": (
        lambda d, p: d.Independent(d.Bernoulli(p), 0),
        lambda m: [leaf(m, 0.25, 0.75)],
        lambda m: m.tensor([1.0, 0]),
    ),
    "Laplace": (
        lambda d, x, s: d.Laplace(x, s),
        lambda m: [leaf(m, 0.5, -2.0), leaf(m, 1.0, 3.0)],
        lambda m: m.tensor([[0.5, -3.0], [2.0, 1.0]]),
    ),
    "LogNormal": (
        lambda d, x, s: d.LogNormal(x, s),
        lambda m: [leaf(m, 0.5, -2.0), leaf(m, 1.0, 0.5)],
        lambda m: m.tensor([[0.5, 3.0], [2.0, 1.0]]),
    ),
    "MultivariateNormal": (
        lambda d, x, c: d.MultivariateNormal(x, c),
        lambda m: [leaf(m, 0.5, -2.0, 1.0), matrix(m)],
        lambda m: m.tensor([[0.5, 3.0, 1.0], [2.0, 1.0, 0.0]]),
    ),
    "MultivariateNormal precision": (
        lambda d, x, c: d.MultivariateNormal(x, precision_matrix=c),
        lambda m: [leaf(m, 0.5, -2.0, 1.0), matrix(m)],
        lambda m: m.tensor([[0.5, 3.0, 1.0], [2.0, 1.0, 0.0]]),
    ),
    "MultivariateNormal factor": (
        lambda d, x, c: d.MultivariateNormal(x, scale_tril=c),
        lambda m: [leaf(m, 0.5, -2.0), factor(m)],
        lambda m: m.tensor([[[0.5, 3.0]], [[2.0, 1.0]], [[2.0, 1.0]]]).expand(3, 2, 2),
    ),
    "Normal": (
        lambda d, x, s: d.Normal(x, s),
        lambda m: [leaf(m, 0.5, -2.0), leaf(m, 1.0, 3.0)],
        lambda m: m.tensor([[0.5, -3.0], [2.0, 1.0]]),
    ),
    "Normal broadcast": (
        lambda d, x: d.Normal(x, 2),
        lambda m: [m.tensor([[0.5], [-2.0]], dtype=m.float64, requires_grad=True)],
        lambda m: m.tensor([[0.5, -3.0, 1.0], [2.0, 1.0, 0.0]], dtype=m.float64),
    ),
    "Normal numbers": (lambda d: d.Normal(1, 2), lambda m: [], lambda m: m.tensor([0.5, -3.0])),
    "OneHotCategorical": (
        lambda d, p: d.OneHotCategorical(p),
        lambda m: [m.tensor([[1.0, 2, 3], [3, 1, 2]], requires_grad=True)],
        lambda m: m.tensor([[1.0, 0, 0], [0, 0, 1]]),
    ),
    "OneHotCategorical logits": (
        lambda d, x: d.OneHotCategorical(logits=x),
        lambda m: [leaf(m, 1.0, 2.0, -3.0)],
        lambda m: m.tensor([[1.0, 0, 0], [0, 0, 1]]),
    ),
    "Poisson": (
        lambda d, r: d.Poisson(r),
        lambda m: [leaf(m, 0.5, 4.0, 30.0)],
        lambda m: m.tensor([0.0, 4.0, 20.0]),
    ),
    "Transformed": (
        lambda d, x: d.TransformedDistribution(
            d.Uniform(0.0, 1.0),
            [d.SigmoidTransform().inv, d.AffineTransform(x, 2.0)],
        ),
        lambda m: [leaf(m, 0.5, -4.0)],
        lambda m: m.tensor([[0.25, 0.5], [-1.0, -0.5]]),
    ),
    "Transformed decreasing": (
        lambda d, x, s: d.TransformedDistribution(d.Normal(x, 1.0), d.AffineTransform(1.0, s)),
        lambda m: [leaf(m, 0.5, -4.0), leaf(m, -2.0, 3.0)],
        lambda m: m.tensor([[0.25, 0.5], [-1.0, -0.5]]),
    ),
    "Transformed vector": (
        lambda d, x: d.TransformedDistribution(d.Normal(x, 1.0), d.StickBreakingTransform()),
        lambda m: [leaf(m, 0.5, -4.0)],
        lambda m: m.tensor([[0.25, 0.5, 0.25], [0.5, 0.375, 0.125]]),
    ),
    "Uniform": (
        lambda d, a, b: d.Uniform(a, b),
        lambda m: [leaf(m, 0.5, -2.0), leaf(m, 1.0, 3.0)],
        lambda m: m.tensor([[0.5, -1.0], [0.75, 2.0]]),
    ),
    "Binomial": (
        lambda d, p: d.Binomial(5, p),
        lambda m: [leaf(m, 0.25, 0.5, 0.9)],
        lambda m: m.tensor([0.0, 3.0, 5.0]),
    ),
    "Binomial logits": (
        lambda d, n, x: d.Binomial(n, logits=x),
        lambda m: [m.tensor([[5.0], [40.0]]), leaf(m, -30.0, 0.0, 4.0)],
        lambda m: m.tensor([0.0, 3.0, 5.0]),
    ),
    "Cauchy": (
        lambda d, x, s: d.Cauchy(x, s),
        lambda m: [leaf(m, 0.5, -2.0), leaf(m, 1.0, 3.0)],
        lambda m: m.tensor([[0.5, -3.0], [2.0, 1.0]]),
    ),
    "Cauchy numbers": (lambda d: d.Cauchy(1, 2), lambda m: [], lambda m: m.tensor([0.5, -3.0])),
    "Chi2": (
        lambda d, n: d.Chi2(n),
        lambda m: [leaf(m, 0.5, 2.0, 30.0)],
        lambda m: m.tensor([0.5, 1.0, 9.0]),
    ),
    "Gumbel": (
        lambda d, x, s: d.Gumbel(x, s),
        lambda m: [leaf(m, 0.5, -2.0), leaf(m, 1.0, 3.0)],
        lambda m: m.tensor([[0.5, -3.0], [2.0, 1.0]]),
    ),
    "Gumbel numbers": (lambda d: d.Gumbel(1, 2), lambda m: [], lambda m: m.tensor([0.5, -3.0])),
    "HalfCauchy": (
        lambda d, s: d.HalfCauchy(s),
        lambda m: [leaf(m, 1.0, 3.0)],
        lambda m: m.tensor([[0.5, 0.0], [2.0, 1.0]]),
    ),
    "HalfNormal": (
        lambda d, s: d.HalfNormal(s),
        lambda m: [leaf(m, 1.0, 3.0, dtype="float64")],
        lambda m: m.tensor([[0.5, 0.0], [2.0, 1.0]], dtype=m.float64),
    ),
    "InverseGamma": (
        lambda d, a, r: d.InverseGamma(a, r),
        lambda m: [leaf(m, 0.5, 2.0, 30.0), leaf(m, 1.0, 0.5, 3.0)],
        lambda m: m.tensor([0.5, 1.0, 0.2]),
    ),
    "LowRankMultivariateNormal": (
        lambda d, x, w, v: d.LowRankMultivariateNormal(x, w, v),
        lambda m: [
            leaf(m, 0.5, -2.0, 1.0),
            m.tensor([[1.0, 0.5], [0.25, -1.0], [2.0, 0.0]], requires_grad=True),
            leaf(m, 1.0, 0.5, 2.0),
        ],
        lambda m: m.tensor([[0.5, 3.0, 1.0], [2.0, 1.0, 0.0]]),
    ),
    "MixtureSameFamily": (
        lambda d, p, x: d.MixtureSameFamily(d.Categorical(p), d.Normal(x, 1.0)),
        lambda m: [leaf(m, 1.0, 3.0), leaf(m, 0.5, 2.0)],
        lambda m: m.tensor([0.5, 3.0, 1.0]),
    ),
    "MixtureSameFamily batch": (
        lambda d, p, x: d.MixtureSameFamily(d.Categorical(p), d.Normal(x, 1.0)),
        lambda m: [
            m.tensor([[1.0, 2], [3, 1]], requires_grad=True),
            m.tensor([[0.5, 2.0], [-1.0, 1.0]], requires_grad=True),
        ],
        lambda m: m.tensor([[0.5, 3.0], [2.0, 1.0], [1.0, 1.0]]),
    ),
    "MixtureSameFamily vectors": (
        lambda d, p, x: d.MixtureSameFamily(
            d.Categorical(p), d.Independent(d.Uniform(x, x + 4.0), 1)
        ),
        lambda m: [leaf(m, 1.0, 3.0), m.tensor([[0.5, 1.0], [-1.0, 1.0]], requires_grad=True)],
        lambda m: m.tensor([[0.5, 3.0], [2.0, 1.0], [1.0, 1.0]]),
    ),
    "Multinomial": (
        lambda d, p: d.Multinomial(4, p),
        lambda m: [m.tensor([[1.0, 2, 3], [3, 1, 2]], requires_grad=True)],
        lambda m: m.tensor([[1.0, 0, 3], [0, 0, 4]]),
    ),
    "Multinomial logits": (
        lambda d, x: d.Multinomial(3, logits=x),
        lambda m: [leaf(m, 1.0, 2.0, -3.0)],
        lambda m: m.tensor([[1.0, 1, 1], [0, 0, 3]]),
    ),
    "NegativeBinomial": (
        lambda d, n, p: d.NegativeBinomial(n, p),
        lambda m: [m.tensor([0.5, 3.0, 8.0]), leaf(m, 0.25, 0.5, 0.75)],
        lambda m: m.tensor([0.0, 3.0, 20.0]),
    ),
    "NegativeBinomial logits": (
        lambda d, x: d.NegativeBinomial(4, logits=x),
        lambda m: [leaf(m, -1.0, 0.0, 1.0)],
        lambda m: m.tensor([0.0, 3.0, 20.0]),
    ),
    "Pareto": (
        lambda d, s, a: d.Pareto(s, a),
        lambda m: [leaf(m, 1.0, 0.5, 3.0), leaf(m, 0.5, 2.0, 3.0)],
        lambda m: m.tensor([1.5, 1.0, 4.0]),
    ),
    "StudentT": (
        lambda d, n, x, s: d.StudentT(n, x, s),
        lambda m: [leaf(m, 1.0, 2.0, 30.0), leaf(m, 0.5, -2.0, 1.0), leaf(m, 1.0, 2.0, 3.0)],
        lambda m: m.tensor([0.5, 1.0, 9.0]),
    ),
    "StudentT numbers": (lambda d: d.StudentT(4), lambda m: [], lambda m: m.tensor([0.5, -3.0])),
    "Weibull": (
        lambda d, s, k: d.Weibull(s, k),
        lambda m: [leaf(m, 1.0, 0.5, 3.0), leaf(m, 1.5, 2.0, 3.0)],
        lambda m: m.tensor([1.5, 1.0, 4.0]),
    ),
    "ContinuousBernoulli": (
        lambda d, p: d.ContinuousBernoulli(p),
        lambda m: [leaf(m, 0.1, 0.4995, 0.9, 0.0, 1.0)],
        lambda m: m.tensor([0.25, 0.5, 1.0, 0.0, 0.75]),
    ),
    "ContinuousBernoulli logits": (
        lambda d, x: d.ContinuousBernoulli(logits=x, lims=(0.4, 0.6)),
        lambda m: [leaf(m, -3.0, 0.1, 2.0)],
        lambda m: m.tensor([[0.25, 0.5, 1.0], [0.0, 0.75, 0.1]]),
    ),
    "FisherSnedecor": (
        lambda d, a, b: d.FisherSnedecor(a, b),
        lambda m: [leaf(m, 1.0, 3.0, 20.0), leaf(m, 1.5, 3.0, 10.0)],
        lambda m: m.tensor([0.5, 1.0, 3.0]),
    ),
    "GeneralizedPareto": (
        lambda d, x, s, c: d.GeneralizedPareto(x, s, c),
        lambda m: [
            leaf(m, 0.5, -2.0, 0.0, 1.0),
            leaf(m, 1.0, 3.0, 2.0, 0.5),
            leaf(m, 0.25, 0.0, -0.5, 1.5),
        ],
        lambda m: m.tensor([0.75, 1.0, 0.5, 3.0]),
    ),
    "Kumaraswamy": (
        lambda d, a, b: d.Kumaraswamy(a, b),
        lambda m: [leaf(m, 0.5, 2.0, 3.0), leaf(m, 0.75, 1.5, 4.0)],
        lambda m: m.tensor([0.25, 0.5, 0.75]),
    ),
    "LKJCholesky": (
        lambda d, c: d.LKJCholesky(3, c),
        lambda m: [leaf(m, 2.0, 5.0)],
        lambda m: m.tensor([[1.0, 0, 0], [0.6, 0.8, 0], [0.0, -0.6, 0.8]]).expand(2, 3, 3),
    ),
    "LKJCholesky number": (
        lambda d: d.LKJCholesky(2),
        lambda m: [],
        lambda m: m.tensor([[1.0, 0], [0.6, 0.8]]),
    ),
    "LogisticNormal": (
        lambda d, x, s: d.LogisticNormal(x, s),
        lambda m: [leaf(m, 0.5, -2.0), leaf(m, 1.0, 3.0)],
        lambda m: m.tensor([[0.25, 0.5, 0.25], [0.5, 0.375, 0.125]]),
    ),
    "LogisticNormal number": (
        lambda d: d.LogisticNormal(0.0, 1.0),
        lambda m: [],
        lambda m: m.tensor([0.25, 0.75]),
    ),
    "OneHotCategoricalStraightThrough": (
        lambda d, p: d.OneHotCategoricalStraightThrough(p),
        lambda m: [m.tensor([[1.0, 2, 3], [3, 1, 2]], requires_grad=True)],
        lambda m: m.tensor([[1.0, 0, 0], [0, 0, 1]]),
    ),
    "RelaxedBernoulli": (
        lambda d, t, p: d.RelaxedBernoulli(t, p),
        lambda m: [leaf(m, 0.5), leaf(m, 0.1, 0.5, 0.9)],
        lambda m: m.tensor([0.25, 0.5, 0.125]),
    ),
    "RelaxedBernoulli logits": (
        lambda d, t, x: d.RelaxedBernoulli(t, logits=x),
        lambda m: [leaf(m, 2.0), leaf(m, -3.0, 0.5)],
        lambda m: m.tensor([[0.25, 0.5], [0.75, 0.125]]),
    ),
    "RelaxedOneHotCategorical": (
        lambda d, t, p: d.RelaxedOneHotCategorical(t, p),
        lambda m: [leaf(m, 0.5), m.tensor([[1.0, 2, 3], [3, 1, 2]], requires_grad=True)],
        lambda m: m.tensor([[0.25, 0.5, 0.25], [0.5, 0.375, 0.125]]),
    ),
    "RelaxedOneHotCategorical logits": (
        lambda d, t, x: d.RelaxedOneHotCategorical(t, logits=x),
        lambda m: [leaf(m, 2.0), leaf(m, 1.0, 2.0, -3.0)],
        lambda m: m.tensor([[0.25, 0.5, 0.25], [0.5, 0.375, 0.125]]),
    ),
    "VonMises": (
        lambda d, x, k: d.VonMises(x, k),
        lambda m: [leaf(m, 0.5, -2.0, 1.0), leaf(m, 0.25, 3.0, 20.0)],
        lambda m: m.tensor([0.5, -3.0, 7.0]),
    ),
    "Wishart": (
        lambda d, n, c: d.Wishart(n, c),
        lambda m: [leaf(m, 3.5, 7.0), matrix(m)],
        lambda m: matrix(m).detach() * 2,
    ),
    "Wishart precision": (
        lambda d, c: d.Wishart(5, precision_matrix=c),
        lambda m: [matrix(m)],
        lambda m: matrix(m).detach() * 2,
    ),
    "Wishart factor": (
        lambda d, n, c: d.Wishart(n, scale_tril=c),
        lambda m: [leaf(m, 2.5, 4.0), factor(m)],
        lambda m: m.tensor([[2.0, 0.5], [0.5, 1.0]]).expand(2, 2, 2),
    ),
}


REFUSED = {
    "Normal scale": lambda m, d: d.Normal(m.zeros(2), m.tensor([1.0, -1.0])),
    "Normal nan": lambda m, d: d.Normal(float("nan"), 1.0),
    "Normal text": lambda m, d: d.Normal("0", 1.0),
    "Normal shapes": lambda m, d: d.Normal(m.zeros(2), m.ones(3)),
    "Bernoulli both": lambda m, d: d.Bernoulli(0.5, 0.5),
    "Bernoulli neither": lambda m, d: d.Bernoulli(),
    "Bernoulli range": lambda m, d: d.Bernoulli(1.5),
    "Categorical both": lambda m, d: d.Categorical(m.ones(2), m.ones(2)),
    "Categorical 0-d": lambda m, d: d.Categorical(m.ones(())),
    "Categorical negative": lambda m, d: d.Categorical(m.tensor([1.0, -1.0])),
    "Geometric zero": lambda m, d: d.Geometric(m.tensor([0.0, 0.5])),
    "Dirichlet 0-d": lambda m, d: d.Dirichlet(m.ones(())),
    "Dirichlet negative": lambda m, d: d.Dirichlet(m.tensor([1.0, -1.0])),
    "Beta zero": lambda m, d: d.Beta(0.0, 1.0),
    "Uniform order": lambda m, d: d.Uniform(1.0, 0.0),
    "Poisson negative": lambda m, d: d.Poisson(-1.0),
    "Independent": lambda m, d: d.Independent(d.Normal(m.zeros(2), 1.0), 2),
    "MultivariateNormal none": lambda m, d: d.MultivariateNormal(m.zeros(2)),
    "MultivariateNormal 0-d": lambda m, d: d.MultivariateNormal(m.zeros(()), m.eye(2)),
    "MultivariateNormal 1-d": lambda m, d: d.MultivariateNormal(m.zeros(2), m.ones(2)),
    "Transformed tuple": lambda m, d: d.TransformedDistribution(d.Normal(0.0, 1.0), ()),
    "Transformed list": lambda m, d: d.TransformedDistribution(d.Normal(0.0, 1.0), [1]),
    "Transformed small": lambda m, d: d.TransformedDistribution(
        d.Normal(0.0, 1.0), d.StickBreakingTransform()
    ),
    "value number": lambda m, d: d.Normal(0.0, 1.0).log_prob(1.0),
    "value nan": lambda m, d: d.Normal(0.0, 1.0).log_prob(m.tensor(float("nan"))),
    "value shape": lambda m, d: d.Normal(m.zeros(2), 1.0).log_prob(m.zeros(3)),
    "value event": lambda m, d: d.Dirichlet(m.ones(3)).log_prob(m.ones(2) / 2),
    "value support": lambda m, d: d.Bernoulli(0.5).log_prob(m.tensor(0.5)),
    "value one-hot": lambda m, d: d.OneHotCategorical(m.ones(3)).log_prob(m.ones(3)),
    "value category": lambda m, d: d.Categorical(m.ones(3)).log_prob(m.tensor(3)),
    "value simplex": lambda m, d: d.Dirichlet(m.ones(3)).log_prob(m.ones(3)),
    "mode": lambda m, d: d.TransformedDistribution(d.Normal(0.0, 1.0), []).mode,
    "mean": lambda m, d: d.TransformedDistribution(d.Normal(0.0, 1.0), []).mean,
    "abstract": lambda m, d: d.Distribution().sample(),
    "abstract expand": lambda m, d: d.Distribution(validate_args=False).expand((2,)),
    "no kl": lambda m, d: d.kl_divergence(d.Laplace(0.0, 1.0), d.Bernoulli(0.5)),
    "kl of families": lambda m, d: d.kl_divergence(d.Poisson(1.0), d.Normal(0.0, 1.0)),
    "kl of ndims": lambda m, d: d.kl_divergence(
        d.Independent(d.Normal(m.zeros(2, 2), 1.0), 1), d.Independent(d.Normal(m.zeros(2, 2), 1), 2)
    ),
    "register": lambda m, d: d.register_kl(3, d.Normal),
    "set_default_validate_args": lambda m, d: d.Distribution.set_default_validate_args("yes"),
    "cache": lambda m, d: d.ExpTransform(cache_size=2),
    "reshape": lambda m, d: d.ReshapeTransform((2, 3), (5,)),
    "dependent": lambda m, d: d.constraints.dependent.check(m.ones(1)),
    "dependent dim": lambda m, d: d.constraints.dependent.event_dim,
    "no transform": lambda m, d: d.transform_to(d.constraints.boolean),
    "register constraint": lambda m, d: d.biject_to.register(3, 3),
    "Binomial counts": lambda m, d: d.Binomial(m.tensor([1, 2]), m.ones(2) / 2).entropy(),
    "Binomial values": lambda m, d: d.Binomial(m.tensor([1, 2]), m.ones(2) / 2).enumerate_support(),
    "Binomial count": lambda m, d: d.Binomial(-1, m.ones(2) / 2),
    "Binomial both": lambda m, d: d.Binomial(1, m.ones(2), m.ones(2)),
    "value binomial": lambda m, d: d.Binomial(2, m.ones(2) / 2).log_prob(m.tensor(3.0)),
    "Multinomial count": lambda m, d: d.Multinomial(m.tensor(2), m.ones(2)),
    "value multinomial": lambda m, d: d.Multinomial(2, m.ones(2)).log_prob(m.tensor([2.0, 1.0])),
    "NegativeBinomial one": lambda m, d: d.NegativeBinomial(2, m.ones(2)),
    "value half": lambda m, d: d.HalfNormal(1.0).log_prob(m.tensor(-1.0)),
    "value half cdf": lambda m, d: d.HalfCauchy(1.0).cdf(m.tensor(-1.0)),
    "value pareto": lambda m, d: d.Pareto(m.tensor([2.0]), 1.0).log_prob(m.tensor([1.0])),
    "a value of HalfCauchy": lambda m, d: d.HalfCauchy(-1.0),
    "a value of StudentT": lambda m, d: d.StudentT(m.tensor([-1.0, 2.0])),
    "a value of Chi2": lambda m, d: d.Chi2(0.0),
    "a value of InverseGamma": lambda m, d: d.InverseGamma(0.0, 1.0),
    "a value of Weibull": lambda m, d: d.Weibull(1.0, 0.0),
    "a value of Gumbel": lambda m, d: d.Gumbel(0.0, -1.0),
    "a value of Pareto": lambda m, d: d.Pareto(1.0, -1.0),
    "LowRank values loc": lambda m, d: d.LowRankMultivariateNormal(
        m.zeros(()), m.ones(2, 1), m.ones(2)
    ),
    "LowRank values factor": lambda m, d: d.LowRankMultivariateNormal(
        m.zeros(2), m.ones(2), m.ones(2)
    ),
    "LowRank values rows": lambda m, d: d.LowRankMultivariateNormal(
        m.zeros(2), m.ones(3, 1), m.ones(2)
    ),
    "LowRank values diag": lambda m, d: d.LowRankMultivariateNormal(
        m.zeros(2), m.ones(2, 1), m.ones(3)
    ),
    "LowRank values batch": lambda m, d: d.LowRankMultivariateNormal(
        m.zeros(2, 2), m.ones(3, 2, 1), m.ones(2)
    ),
    "Mixture kind": lambda m, d: d.MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(0.0, 1.0)),
    "Mixture value 2": lambda m, d: d.MixtureSameFamily(d.Categorical(m.ones(2)), 3),
    "Mixture value batch": lambda m, d: d.MixtureSameFamily(
        d.Categorical(m.ones(3, 2)), d.Normal(m.zeros(2, 2), 1.0)
    ),
    "Mixture value count": lambda m, d: d.MixtureSameFamily(
        d.Categorical(m.ones(3)), d.Normal(m.zeros(2), 1.0)
    ),
    "mixture of a batch": lambda m, d: d.MixtureSameFamily(
        d.Categorical(m.ones(2)), d.Normal(m.zeros(3, 2), 1.0)
    ).sample((3,)),
    "a value of ContinuousBernoulli": lambda m, d: d.ContinuousBernoulli(1.5, validate_args=True),
    "ContinuousBernoulli both": lambda m, d: d.ContinuousBernoulli(0.5, 0.5),
    "a value of FisherSnedecor": lambda m, d: d.FisherSnedecor(-1.0, 1.0),
    "a value of GeneralizedPareto": lambda m, d: d.GeneralizedPareto(0.0, -1.0, 1.0),
    "value generalized": lambda m, d: d.GeneralizedPareto(0.0, 1.0, 1.0).log_prob(m.tensor(-1.0)),
    "a value of Kumaraswamy": lambda m, d: d.Kumaraswamy(0.0, 1.0),
    "a value of LKJCholesky": lambda m, d: d.LKJCholesky(3, -1.0),
    "values of LKJCholesky": lambda m, d: d.LKJCholesky(1),
    "value lkj": lambda m, d: d.LKJCholesky(2).log_prob(m.ones(2, 2)),
    "a value of LogisticNormal": lambda m, d: d.LogisticNormal(0.0, -1.0),
    "RelaxedBernoulli both": lambda m, d: d.RelaxedBernoulli(m.ones(1), 0.5, 0.5),
    "a value of RelaxedBernoulli": lambda m, d: d.RelaxedBernoulli(m.ones(1), 1.5),
    "RelaxedOneHotCategorical none": lambda m, d: d.RelaxedOneHotCategorical(m.ones(1)),
    "a value of VonMises": lambda m, d: d.VonMises(0.0, 0.0),
    "VonMises rsample": lambda m, d: d.VonMises(0.0, 1.0).rsample(),
    "Wishart none": lambda m, d: d.Wishart(2.0),
    "a value of Wishart": lambda m, d: d.Wishart(1.0, m.eye(2)),
    "values of Wishart": lambda m, d: d.Wishart(1.0, m.ones(2)),
    "value wishart": lambda m, d: d.Wishart(3.0, m.eye(2)).log_prob(-m.eye(2)),
    "matrix of Wishart": lambda m, d: d.Wishart(3.0, -m.eye(2)),
}
