"""Language models: the n-gram baseline, causality, caches, sampling, and what they learn."""

import argparse
import math
import re

import pytest

import tiny_torch as torch

MODELS = ("rnn", "lstm", "gru", "tcn", "gpt")
# The next character follows from the two before: n-grams of order 3 and all models can know it.
TEXT = "ab cab bac " * 400


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return str(path)


@pytest.fixture
def make(app):
    """make(kind): a small untrained model of 5 tokens and a context of 16."""

    def small(kind):
        torch.manual_seed(0)
        args = argparse.Namespace(width=16, context=16, layers=2, heads=2, model=kind)
        args.checkpoint_activations = args.amp = False
        args.device = "cpu"
        return app("gpt").GPT(args, 5) if kind == "gpt" else app("rnn").make(args, 5)

    return small


def corpus(app, train, test):
    ids = (torch.tensor(["ab c".index(token) for token in text]) for text in (train, test))
    return app("language").Corpus(*ids, list("ab c-"), "char")


@pytest.mark.parametrize("order", [1, 2, 3])
def test_ngrams_by_hand(app, order):
    train, test, d = "abcabbac", "cabac", 0.75

    def p(context, token):
        if context is None:
            return 1 / 5
        shorter = p(context[1:] if context else None, token)
        follows = [train[i + len(context)] for i in range(len(train) - len(context))
                   if train.startswith(context, i)]  # fmt: skip
        if not follows:
            return shorter
        seen = max(follows.count(token) - d, 0) / len(follows)
        return seen + d * len(set(follows)) / len(follows) * shorter

    asked = [(test[i - order + 1 : i], test[i]) for i in range(order, len(test))]
    mean = sum(-math.log(p(*pair)) for pair in asked) / len(asked)
    found = app("language").ngram_perplexity(corpus(app, train, test), order)
    assert found == pytest.approx(math.exp(mean))


@pytest.mark.parametrize("kind", MODELS)
def test_scores_do_not_see_the_future(make, kind):
    model, tokens = make(kind), torch.randint(0, 5, (2, 12))
    changed = tokens.clone()
    changed[:, 7:] = 0
    before, after = (model(t, None)[0][:, :7] for t in (tokens, changed))
    assert torch.equal(before, after)


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru", "gpt"])
def test_a_state_stands_for_the_tokens_before(make, kind):
    model, tokens = make(kind), torch.randint(0, 5, (1, 12))
    with torch.no_grad():
        whole, _ = model(tokens, None)
        state, parts = None, []
        for token in tokens[0]:
            scores, state = model(token.view(1, 1), state)
            parts.append(scores)
    torch.testing.assert_close(torch.cat(parts, 1), whole)


def test_a_full_cache_begins_again(make, app):
    model = make("gpt")
    model.args.__dict__.update(seed=0, prompt="ab", temperature=1.0, top_k=0, top_p=1.0)
    assert len(app("language").sample(model, corpus(app, "ab", "ab"), 40)) == 42


def test_top_k_and_top_p(app):
    scores = torch.tensor([3.0, 2.0, 1.0, 0.0])  # 64 %, 24 %, 9 %, 3 %

    def seen(top_k, top_p):
        args = argparse.Namespace(temperature=1.0, top_k=top_k, top_p=top_p)
        generator = torch.Generator().manual_seed(0)
        return {app("language").drawn(scores, args, generator) for _ in range(300)}

    assert seen(0, 1.0) == {0, 1, 2, 3} and seen(2, 1.0) == {0, 1}
    assert seen(0, 0.5) == {0} and seen(0, 0.7) == {0, 1} and seen(3, 0.7) == {0, 1}


def test_a_low_temperature_takes_the_likeliest_token(app):
    scores = torch.tensor([3.0, 2.0, 3.5, -math.inf])
    for temperature in (0.0, 1e-320, 1e-30, 1e-3):
        args = argparse.Namespace(temperature=temperature, top_k=0, top_p=1.0)
        assert app("language").drawn(scores, args, torch.Generator().manual_seed(0)) == 2


@pytest.mark.parametrize(
    "option", ["top-p 2", "top-p 0", "top-p nan", "top-k 0", "temperature -1", "temperature inf"]
)
def test_what_cannot_be_sampled_is_refused(run, option, capsys):
    with pytest.raises(SystemExit) as ended:
        run("gpt", *f"--{option}".split())
    assert ended.value.code == 2 and f"argument --{option.split()[0]}: " in capsys.readouterr().err


def test_a_language_model_says_what_it_does_before_it_does_it(run, text, capsys):
    run("rnn", "--data", text, "--width", "8", "--batch-size", "8", "--epochs", "1")
    first, _, second, *_ = capsys.readouterr().out.splitlines()
    assert first == "counting the 4-grams of 4,400 chars"
    assert re.fullmatch(r"[\d,]+ parameters, epochs 1 to 1, \d+ steps each", second)


@pytest.mark.parametrize("kind", ["lstm", "tcn", "gpt"])
def test_models_learn_a_simple_text(run, text, kind, capsys):
    app = ("gpt",) if kind == "gpt" else ("rnn", "--model", kind)
    sizes = ("--width", "32", "--context", "16", "--batch-size", "8", "--length", "30")
    history = run(*app, "--data", text, *sizes, "--epochs", "6", "--lr", "0.01")
    assert history[-1]["test_perplexity"] < 1.5
    assert re.search("cab bac", capsys.readouterr().out.split("epoch  6")[1])


def test_sizes_are_compared_at_equal_parameters(run, app, text, tmp_path):
    options = ("--data", text, "--width", "32", "--context", "16", "--batch-size", "32")
    run("gpt", "--compare", "--epochs", "1", *options)
    parts = torch.load(tmp_path / "gpt.pt")["parts"]
    gpt, lstm, tcn = (
        sum(t.numel() for t in parts[name].values())
        for name in ("model", "model_lstm", "model_tcn")
    )
    assert 0.9 * gpt < lstm <= gpt and 0.8 * gpt < tcn <= gpt
    assert (tmp_path / "compare.png").stat().st_size > 10_000


def test_what_is_no_text_is_refused(run, tmp_path):
    for content, said in ((b"\xff\xfe\x00", "no UTF-8 text"), (b"too short", "too few")):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(SystemExit, match=said):
            run("rnn", "--data", str(tmp_path / "file"))
    with pytest.raises(SystemExit, match=r"cannot read --data .*: No such file"):
        run("rnn", "--data", str(tmp_path / "nothing"))
