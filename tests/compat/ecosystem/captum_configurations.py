"""What captum's own test configurations answer: {name: attributions, or the error}, as JSON.

captum's wheel holds the configurations that its tests run (models, inputs, algorithms), not the
tests. Each algorithm attributes as it is configured, and where its target is one number also by a
tensor and by a list of targets.
"""

import json
import warnings

import torch
from captum.attr import NoiseTunnel
from captum.testing.attr.helpers.gen_test_utils import (
    gen_test_name,
    get_target_layer,
    parse_test_config,
)
from captum.testing.attr.helpers.test_config import config
from captum.testing.helpers.basic import set_all_random_seeds


def numbers(x):
    """(shape, numbers) of each tensor."""
    if isinstance(x, torch.Tensor):
        return [list(x.shape), x.detach().double().flatten().tolist()]
    return [numbers(part) for part in x]


def forms(arguments):
    """The arguments as they are, and with as many targets as rows."""
    yield "plain", arguments
    target, inputs = arguments.get("target"), arguments["inputs"]
    if isinstance(target, int):
        rows = len(inputs[0] if isinstance(inputs, tuple) else inputs)
        yield "tensor", {**arguments, "target": torch.full((rows,), target)}
        yield "list", {**arguments, "target": [target] * rows}


def attributed(algorithm, model, layer, noise, arguments):
    set_all_random_seeds(1234)
    places = [] if layer is None else [get_target_layer(model, layer)]
    method = algorithm(model, *places)
    try:
        return numbers((NoiseTunnel(method) if noise else method).attribute(**arguments))
    except AssertionError as error:  # captum's checks of targets
        return str(error)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = {}
    for each in config:
        algorithms, model, arguments, layer, noise, _ = parse_test_config(each)
        for algorithm in algorithms:
            for form, given in forms(arguments):
                name = gen_test_name(each["name"], form, algorithm, noise)
                found[name] = attributed(algorithm, model, layer, noise, given)
    print(json.dumps(found))
