"""Typical uses of packages that train: their loops, on a small net."""

import os
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from uses import normal, small_net, use


def batches(outputs=1):
    """Three batches of four: inputs (4, 4), targets (4, outputs)."""
    return DataLoader(TensorDataset(normal(12, 4), normal(12, outputs)), batch_size=4)


@use("skorch")
def fit_as_scikit_learn():
    from sklearn.model_selection import GridSearchCV
    from skorch import NeuralNetClassifier, NeuralNetRegressor
    from skorch.callbacks import EpochScoring, LRScheduler
    from skorch.dataset import ValidSplit
    from skorch.helper import predefined_split

    x, y = normal(24, 4).numpy(), (torch.arange(24) % 3).numpy()
    callbacks = [EpochScoring("accuracy"), LRScheduler("StepLR", step_size=2)]
    net = NeuralNetClassifier(
        small_net(4, 3),
        criterion=nn.CrossEntropyLoss,
        max_epochs=3,
        lr=0.1,
        callbacks=callbacks,
        train_split=ValidSplit(3),
        verbose=0,
    )
    net.fit(x, y)
    valid = predefined_split(TensorDataset(normal(4, 4), normal(4, 1)))
    regressor = NeuralNetRegressor(small_net(), max_epochs=3, train_split=valid, verbose=0)
    regressor.fit(x, normal(24, 1).numpy())
    search = GridSearchCV(net, {"lr": [0.01, 0.1]}, cv=2, refit=False, scoring="accuracy").fit(x, y)
    return (
        net.history[:, ("train_loss", "valid_loss", "accuracy")],
        net.predict_proba(x),
        regressor.history[:, ("train_loss", "valid_loss")],
        search.cv_results_["mean_test_score"],
    )


@use("pytorch-ignite")
def engines_and_events():
    from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
    from ignite.handlers import EarlyStopping
    from ignite.metrics import Loss, MeanAbsoluteError, RunningAverage

    net, data, losses = small_net(), batches(), []
    loss, optimizer = nn.MSELoss(), torch.optim.Adam(net.parameters(), lr=0.1)
    trainer = create_supervised_trainer(net, optimizer, loss)
    metrics = {"loss": Loss(loss), "error": MeanAbsoluteError()}
    evaluator = create_supervised_evaluator(net, metrics=metrics)
    RunningAverage(output_transform=float).attach(trainer, "average")
    stopping = EarlyStopping(2, lambda engine: -engine.state.metrics["loss"], trainer)
    evaluator.add_event_handler(Events.COMPLETED, stopping)

    @trainer.on(Events.EPOCH_COMPLETED)
    def evaluate(engine):
        evaluator.run(data)
        losses.append((engine.state.metrics["average"], *evaluator.state.metrics.values()))

    trainer.run(data, max_epochs=3)
    return losses


@use("pytorch-lightning")
def lightning_module():
    import pytorch_lightning as lightning

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net, self.losses = small_net(), []

        def training_step(self, batch, index):
            x, y = batch
            loss = nn.functional.mse_loss(self.net(x), y)
            self.log("loss", loss)
            self.losses.append(loss.item())
            return loss

        def validation_step(self, batch, index):
            x, y = batch
            self.log("error", (self.net(x) - y).abs().mean())

        def configure_optimizers(self):
            optimizer = torch.optim.AdamW(self.parameters(), lr=0.1)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]

    model = Model().double()
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(
            accelerator="cpu", max_epochs=2, logger=False, default_root_dir=folder,
            enable_progress_bar=False, enable_model_summary=True, gradient_clip_val=0.5,
        )  # fmt: skip
        trainer.fit(model, batches(), batches())
        path = os.path.join(folder, "model.ckpt")
        trainer.save_checkpoint(path)
        again = Model.load_from_checkpoint(path)
    return model.losses, trainer.callback_metrics["error"], list(again.parameters())


@use("lightning")
def lightning_fabric():
    from lightning.fabric import Fabric

    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    net = small_net()
    net, optimizer = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
    losses = []
    for x, y in fabric.setup_dataloaders(batches()):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        fabric.backward(loss)
        fabric.clip_gradients(net, optimizer, max_norm=0.5)
        optimizer.step()
        losses.append(fabric.all_reduce(loss.detach()))
    with tempfile.TemporaryDirectory() as folder:
        state = {"net": net, "optimizer": optimizer}
        fabric.save(os.path.join(folder, "state.ckpt"), state)
        fabric.load(os.path.join(folder, "state.ckpt"), state)
    return losses, list(net.parameters())


@use("accelerate")
def accelerator():
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    net, optimizer, data, schedule = accelerator.prepare(net, optimizer, batches(), schedule)
    losses = []
    for x, y in data:
        with accelerator.accumulate(net):
            loss = nn.functional.mse_loss(net(x), y)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather(loss))
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        accelerator.load_state(folder)
    return losses, list(accelerator.unwrap_model(net).parameters())


@use("keras")
def keras_on_torch():
    import keras

    keras.config.set_floatx("float64")
    keras.utils.set_random_seed(0)
    net = keras.Sequential(
        [
            keras.layers.Input((8, 8, 1)),
            keras.layers.Conv2D(4, 3, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    for weight in net.weights:
        if weight.trainable:
            numbers = np.sin(np.arange(np.prod(weight.shape))).reshape(weight.shape)
            weight.assign(0.1 * numbers)
    net.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    x, y = normal(12, 8, 8, 1).numpy(), (torch.arange(12) % 3).numpy()
    told = net.fit(x, y, epochs=3, batch_size=4, shuffle=False, verbose=0)
    return told.history, net.predict(x, verbose=0), net.evaluate(x, y, verbose=0)


@use("delu")
def deep_learning_utilities():
    import delu

    delu.random.seed(0)
    net = small_net()
    data = {"x": normal(12, 4), "y": normal(12, 1)}
    optimizer, losses = torch.optim.AdamW(net.parameters(), lr=0.1), []
    stopping = delu.tools.EarlyStopping(2, mode="min")
    for batch in delu.iter_batches(data, 4, shuffle=True):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(batch["x"]), batch["y"])
        loss.backward()
        optimizer.step()
        stopping.update(loss.item())
        losses.append(loss.item())
    return losses, stopping.should_stop(), delu.cat(list(delu.iter_batches(data, 5)))


@use("torcheval")
def evaluate():
    from torcheval.metrics import BinaryAUROC, MulticlassAccuracy, MulticlassF1Score, R2Score

    x, y = normal(20, 3), torch.randint(0, 3, (20,))
    pairs = [
        (MulticlassAccuracy(), x, y),
        (MulticlassF1Score(num_classes=3, average="macro"), x, y),
        (BinaryAUROC(), x[:, 0], (y > 0).double()),
        (R2Score(), x[:, 0], x[:, 1]),
    ]
    return [metric.update(*pair).compute() for metric, *pair in pairs]


@use("torchattacks")
def attack():
    import torchattacks

    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)).eval()
    x, y = torch.rand(2, 1, 8, 8), torch.tensor([0, 1])
    kinds = torchattacks.FGSM(net), torchattacks.PGD(net, steps=3, random_start=False)
    return [attack(x, y) for attack in (*kinds, torchattacks.CW(net, steps=4))]


@use("opacus")
def gradients_of_samples():
    from opacus.grad_sample import GradSampleModule

    net = GradSampleModule(small_net())
    net(normal(5, 4)).sum().backward()
    return [parameter.grad_sample for parameter in net.parameters()]
