"""Classes of nodes by a graph convolutional network (Kipf & Welling 2016), on a drawn graph."""

import torch
import torch.nn.functional as F
from record import Record, arguments
from torch import nn
from torch.nn.modules.module import Module
from torch.nn.parameter import Parameter
from torch.optim import Adam


class GraphConv(Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.weight = Parameter(torch.empty(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.empty(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.kaiming_normal_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, input, adj):
        output = torch.mm(adj, torch.mm(input, self.weight))
        return output + self.bias if self.bias is not None else output


class GCN(nn.Module):
    def __init__(self, num_features, hidden, num_classes, dropout=0.5):
        super().__init__()
        self.gc1 = GraphConv(num_features, hidden)
        self.gc2 = GraphConv(hidden, num_classes, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = self.dropout(x)
        return F.log_softmax(self.gc2(x, adj), dim=1)


def drawn_graph(nodes, classes, features):
    """Nodes of one class have more edges, and like features."""
    labels = torch.randint(classes, (nodes,))
    same = labels[:, None] == labels[None, :]
    edges = torch.rand(nodes, nodes) < torch.where(same, 0.1, 0.01)
    adj = (edges | edges.t()).float()
    adj.fill_diagonal_(1)
    degree = adj.sum(1).pow(-0.5)
    adj = degree[:, None] * adj * degree[None, :]
    x = torch.randn(nodes, features) + 2 * F.one_hot(labels, features).float()
    return x, labels, adj


def accuracy(output, labels):
    preds = output.max(1)[1].type_as(labels)
    return preds.eq(labels).double().sum() / len(labels)


def main():
    args = arguments(__doc__, batch=200)
    features, labels, adj = drawn_graph(args.batch, 4, 16)
    features, adj = features.to(args.dtype), adj.to(args.dtype)
    idx = torch.randperm(args.batch)
    idx_train, idx_val = idx[:60], idx[60:]
    model = GCN(16, 16, 4).to(args.dtype)
    optimizer = Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    record = Record(args)
    for _ in range(20):
        model.train()
        optimizer.zero_grad()
        output = model(features, adj)
        loss_train = F.nll_loss(output[idx_train], labels[idx_train])
        loss_train.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            output = model(features, adj)
            loss_val = F.nll_loss(output[idx_val], labels[idx_val])
        record.step(loss_train, loss_val)
    print(f"accuracy {accuracy(output[idx_val], labels[idx_val]).item():.2f}")
    record.save()


if __name__ == "__main__":
    main()
