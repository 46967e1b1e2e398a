BUFFER = 'buffer.mul_(momentum).add_(step, alpha=1 - group["dampening"])'
FIRST = "step.detach().clone()"
LAST = 'param.add_(step, alpha=-number(group["lr"]))'
DECAY = "step = step.add(param, alpha=weight_decay)"
NESTEROV = 'step.add(buffer, alpha=momentum) if group["nesterov"] else buffer'
MUTANTS = {
    "the sign": (LAST, LAST.replace("=-", "=")),
    "a new parameter": (LAST, 'param = param.add(step, alpha=-number(group["lr"]))'),
    "the gradient's memory": (FIRST, "step"),
    "dampening at the first step": (FIRST, 'step * (1 - group["dampening"])'),
    "the velocity is forgotten": (
        'buffer = state["momentum_buffer"] = step',
        "buffer = step",
    ),
    "the buffer does not decay": (BUFFER, BUFFER.replace("mul_(momentum).", "")),
    "dampening is ignored": (BUFFER, BUFFER.replace(', alpha=1 - group["dampening"]', "")),
    "decay with the other sign": (DECAY, DECAY.replace("=weight", "=-weight")),
    "decay writes into the gradient": (DECAY, DECAY.replace(".add(", ".add_(")),
    "Nesterov without the gradient": (NESTEROV, NESTEROV.replace("step.add", "buffer.add")),
    "never Nesterov": (NESTEROV, "buffer"),
}
