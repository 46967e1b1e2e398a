"""The DataLoader, with and without worker processes.

An epoch of 10,000 samples of 3 x 32 x 32 in batches of 64, and the start and stop of workers.
"""

from benchmarks.line import Line

PREPARE = """
DataLoader = torch.utils.data.DataLoader
images, labels = torch.rand(10000, 3, 32, 32), torch.arange(10000)

class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 10000
    def __getitem__(self, index):
        return images[index], labels[index]

class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 10000
    def __getitem__(self, index):
        return {"text": str(index), "length": index, "score": 0.5 * index}

samples, texts = Samples(), Texts()
rows = torch.utils.data.TensorDataset(images, labels)
"""
EPOCH = "for batch in DataLoader({dataset}, 64, shuffle=True, num_workers={workers}): pass"


def make_lines() -> list[Line]:
    lines = [
        Line(
            f"epoch of {dataset}, {workers} workers",
            1.1,
            PREPARE,
            EPOCH.format(dataset=dataset, workers=workers),
        )
        for dataset in ["samples", "rows", "texts"]
        for workers in [0, 1, 2]
    ]
    start = "batches = iter(DataLoader(rows, 64, num_workers=2)); next(batches); del batches"
    return [*lines, Line("2 workers, first batch, stop", 1.1, PREPARE, start)]
