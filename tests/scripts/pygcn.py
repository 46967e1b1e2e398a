"""The graph network of gcn.py as pygcn writes it: a sparse matrix of edges, learnt node vectors."""

import torch
import torch.nn.functional as F
from gcn import GraphConv, drawn_graph
from record import Record, arguments
from torch import nn, optim


class SparseGraphConv(GraphConv):
    def forward(self, input, adj):
        output = torch.spmm(adj, torch.mm(input, self.weight))
        return output + self.bias if self.bias is not None else output


class GCN(nn.Module):
    def __init__(self, nodes, nfeat, nhid, nclass, dropout):
        super().__init__()
        self.vectors = nn.Embedding(nodes, nfeat, sparse=True)
        self.gc1 = SparseGraphConv(nfeat, nhid)
        self.gc2 = SparseGraphConv(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, nodes, adj):
        x = x + self.vectors(nodes)
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


def row_normalized(edges):
    """Edges whose weights at each node sum to 1."""
    indices = edges.nonzero().t()
    ones = torch.sparse.FloatTensor(indices, torch.ones(indices.shape[1]), edges.shape)
    degrees = torch.sparse.sum(ones, dim=1).to_dense()
    return torch.sparse_coo_tensor(indices, 1 / degrees[indices[0]], edges.shape)


def main():
    args = arguments(__doc__, batch=200)
    features, labels, adj = drawn_graph(args.batch, 4, 16)
    adj = row_normalized(adj != 0).coalesce().to(args.dtype)
    idx_train, nodes = torch.randperm(args.batch)[:60], torch.arange(args.batch)
    model = GCN(args.batch, 16, 16, 4, dropout=0.5).to(args.dtype)
    layers = [p for name, p in model.named_parameters() if name != "vectors.weight"]
    optimizers = [
        optim.Adam(layers, lr=0.01, weight_decay=5e-4),
        optim.SparseAdam([model.vectors.weight], lr=0.01),
    ]
    record = Record(args)
    for _ in range(20):
        for optimizer in optimizers:
            optimizer.zero_grad()
        output = model(features.to(args.dtype), nodes, adj)
        loss = F.nll_loss(output[idx_train], labels[idx_train])
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        record.step(loss)
    record.save()


if __name__ == "__main__":
    main()
