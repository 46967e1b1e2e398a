"""Cases of indexing: expressions, statements that write, and calls with out=, for test_index.py.

Each is evaluated on tensors of both packages under the names that `tensors` gives.
"""

from __future__ import annotations

import numpy as np
from helpers import make

VALUES = np.random.default_rng(1).permutation(4096).astype("float64") / 64 - 30

# x has shape (2, 3, 4), m (3, 4), v (5,), s (), e (2, 0, 3); i, j, k are int64 tensors of shapes
# (3,), (3,) and (2, 2); p is a mask of m's shape, q of m's rows; n is m as int64, u as uint8.
SHAPES = {"x": (2, 3, 4), "m": (3, 4), "v": (5,), "s": (), "e": (2, 0, 3)}

READS = """
x[0]             x[-1]            x[2]             x[-3]            x[0, 1, 2]
x[0, 0, 0, 0]    x[0, -1]         x[0, 3]          s[0]             s[...]
s[None]          s[()]            x[()]            x[...]           x[..., 0]
x[0, ...]        x[..., 1, :]     x[0, ..., 1]     x[..., ..., 0]   x[10**30]
x[:]             x[1:]            x[:, 1:3]        x[:, ::2]        x[..., 1:-1]
x[5:]            x[:, 2:1]        x[:, -2:]        x[::-1]          x[::0]
x[:10**30]       x[0:1.5]         x['a']           x[1.5]           x[0, 1.5]
x[None]          x[:, None]       x[None, 0, None]  x[..., None]    x[0:1, None, 1]
s[0:1]           e[0]             e[:, 0]          e[1:]            e[:, :, None]
x[0][1:][0]      x[1][:, 1::2]    m.t()[1:, 0]     m.t()[2][1]      x[:, :, 3]
x[True]          x[False]         x[None, True]    x[:, True]       x[True, 0]
x[{}]            x[np.int64(1)]   x[np.array(1)]   x[np.array([1, 0])]  x[np.array([[0], [1]])]
x[np.array([True, False])]        x[np.bool_(True)]                 x[torch.tensor(1)]
x[torch.tensor(True)]             x[torch.tensor(False)]            x[torch.tensor(0), 1:]
x[[0, 1]]        x[[0, -1, 0]]    x[[]]            x[[True, False]]  x[(0, 1), (0, 1)]
x[[0, 1], [0, 1]]                 x[[0, 1], 1]     x[0, [0, 1]]     x[:, [0, 2]]
x[[0], :, [1, 2]]                 x[0, :, [1, 2]]  x[..., [3, 0]]   x[[[0, 1], [1, 0]]]
x[range(2)]      x[[5]]           x[[0, 1], [0, 1, 2]]              x[[1.0]]
m[i]             m[:, i]          m[i, j]          m[k]             m[:, k]
m[i, :]          m[None, i]       m[i, None]       m[i, None, j]    m[i, 1:]
m[1:, i]         m[k, k]          m[k, i]          m[i.int()]       m[i.float()]
m[k[0], k]       x[:, i, j]       x[i % 2, :, j]   x[i % 2, j]      x[:, i]
x[..., i]        x[0, i]          x[k % 2, 1:, k]  x[k, 0]          v[i]
v[k]             v[i + 9]         v[-i]            s[i]             m[i[:0]]
m[p]             m[q]             m[q, 1:]         m[q, i[:2]]      m[:, p[0]]
x[:, p]          x[0, p]          x[p]             x[None, :, p]    m[p.byte()]
m[~p]            m[p, None]       m[p & False]     s[s > 0]         s[s > 99]
m[q, q]          m[p, 0]          x[:, q, 0]       x[:, q, 1:3]     x[x > 0]
e[:, :, i]       e[[0, 1]]        e[e > 0]         m[torch.tensor([], dtype=torch.int64)]
m[k.t()]         m[i[:2], k]      x.transpose(0, 2)[i]              x.transpose(0, 2)[:, :, [1, 0]]
x.gather(2, x[:, :, :1].long() * 0)                m.gather(0, k)   m.gather(1, k)
m.gather(0, i)   m.gather(0, k + 9)                m.gather(0, -k)  m.gather(2, k)
m.gather(0, k.int())              m.gather(0, k.float())            m.gather(-1, k[:1])
s.gather(0, torch.tensor(0))      v.gather(0, i)   m.gather(1, k[:, :0])
torch.gather(m, 0, torch.tensor([[0, 1, 2, 0, 1]]))
m.take_along_dim(k[:1, :1], 0)    torch.take_along_dim(m, k[:1, :1], 1)  m.take_along_dim(i)
m.take_along_dim(i, 0)            m.take_along_dim(k, 0)
m.scatter(0, k, 1.5)              m.scatter(1, k, m)                m.scatter(0, k[:1], m[1:])
m.scatter(0, k, s)                m.scatter(0, k, m.double())       m.scatter(0, k + 9, 1.0)
m.scatter(0, k, value=2)          n.scatter(0, k, 1.5)              u.scatter(0, k, 300)
m.scatter(0, k, m[:1])            m.scatter(3, k, 1.0)              m.scatter(0, i, 1.0)
m.scatter_add(0, k, m)            m.scatter_add(1, k, m[1:, :2])    m.scatter_add(0, k, m.double())
m.scatter_add(0, k, 1.0)          m.scatter_add(0, k + 9, m)        v.scatter_add(0, i, v[:3])
m.index_select(0, i)              m.index_select(1, i)              m.index_select(-1, i[:1])
m.index_select(0, k)              m.index_select(0, -i)             m.index_select(0, i + 9)
m.index_select(0, i.float())      m.index_select(0, i[0])           m.index_select(2, i)
s.index_select(0, i[:1] * 0)      x.index_select(1, i)              torch.index_select(v, 0, i)
m.index_add(0, i, m)              m.index_add(1, i, m[:, :3])       m.index_add(0, i, m, alpha=2)
m.index_add(0, i, m.double())     m.index_add(0, i, m[:2])          m.index_add(0, i, m[:, :2])
m.index_add(0, -i, m)             m.index_add(0, i + 9, m)          m.index_add(0, k, m)
v.index_add(0, i, v[:3])          torch.index_add(x, 2, i, x[..., :3])
m.index_copy(0, torch.tensor([2, 0, 1]), m)        m.index_copy(1, torch.tensor([3, 0]), m[:, 1:3])
m.index_copy(0, i + 9, m)
m.index_fill(0, i, 1.5)           m.index_fill(1, -i, s)            m.index_fill(0, i, v)
m.index_fill(0, i + 9, 1.0)       n.index_fill(0, i, 1.5)           u.index_fill(0, i, 300)
m.index_fill(0, k, 1.0)           m.index_fill(0, i[0], 1.0)        v.index_fill(0, i, -1)
m.index_put((i,), s)              m.index_put((i, j), v[:3])        m.index_put((i,), m, True)
m.index_put((i,), v)              m.index_put((p,), s)              m.index_put((i, j, i), s)
m.index_put(i, s)                 m.index_put((i,), m.double())
m.index_put([k], s, accumulate=True)
m.index_put((i + 9,), s)          torch.index_put(m, (i, j), v[:1])
m.masked_fill(p, 1.5)             m.masked_fill(p, s)               m.masked_fill(p[0], 0)
m.masked_fill(q, 1)               m.masked_fill(m, 1)               m.masked_fill(p, v)
v.masked_fill(v > 0, float("-inf"))                m[0].masked_fill(p, 1.0)
n.masked_fill(p, 1.5)             u.masked_fill(p, 300)             u.masked_fill(p, -1)
m.masked_fill(p, 1e300)           m.masked_fill(p, s.double())      x.masked_fill(p, 0.0)
m.masked_fill(p.byte(), 1)        m.masked_fill(q[:, None], 2)      torch.masked_fill(m, ~p, True)
m.masked_select(p)                m.masked_select(q[:, None])       m[:1].masked_select(p)
m.masked_select(m)                m.masked_select(q[:2])            s.masked_select(s > 0)
torch.masked_select(x, p)
torch.where(p, m, 0.0)            torch.where(p, 0, m)              torch.where(p, m, s)
torch.where(p, m, m.double())     torch.where(p, m[0], x)           torch.where(q[:, None], m, -m)
torch.where(p, 1, 2)              torch.where(p, 1.0, 2)            torch.where(p, True, False)
torch.where(p, True, 2.5)         torch.where(p, n, 2.5)            torch.where(p, n, m)
torch.where(p, u, 300)            torch.where(m, 1, 2)              torch.where(p, m)
torch.where(True, m, m)           torch.where(p, m, v)              m.where(p, 0.0)
m.where(p, s)                     torch.where(p.byte(), m, 1.0)     torch.where(p)
torch.where(q)                    torch.where(p, s.double(), m)
m.nonzero()      n.nonzero()      p.nonzero()      q.nonzero()      s.nonzero()
e.nonzero()      p.nonzero(as_tuple=True)          s.nonzero(as_tuple=True)
torch.nonzero(q)                  torch.argwhere(p)                 (m > 99).nonzero()
m.scatter(0, k, 1.5, reduce="add")                 m.scatter(1, k, m, reduce="multiply")
m.scatter(0, k, m, reduce="sum")  m.scatter(0, k, m, reduce=1)
n.scatter(1, k, 2, reduce="multiply")
n.scatter(0, k, n, reduce="add")  p.scatter(0, k, p, reduce="add")
m.scatter_reduce(0, k, m, "sum")  m.scatter_reduce(1, k, m, "prod")
m.scatter_reduce(0, k, m, "mean")
m.scatter_reduce(0, k, m, "amax")  m.scatter_reduce(1, k, m, "amin")
m.scatter_reduce(0, k, m, "max")   m.scatter_reduce(1, k, m, "min")
m.scatter_reduce(0, k, m, "sum", include_self=False)
m.scatter_reduce(1, k, m, "prod", include_self=False)
m.scatter_reduce(0, k, m, "mean", include_self=False)
m.scatter_reduce(1, k, m, "amax", include_self=False)
m.scatter_reduce(0, k, m, "amin", include_self=False)
m.scatter_reduce(1, k, m * (m > 0), "prod")        (m * (m > 0)).scatter_reduce(1, k, m, "prod")
m.scatter_reduce(0, k, (m > 0) * 1.0, "amax")      m.scatter_reduce(0, k[:, :0], m, "sum")
n.scatter_reduce(0, k, -n, "mean")
n.scatter_reduce(0, k, n, "amax", include_self=False)
n.scatter_reduce(1, k, n, "prod")
u.scatter_reduce(0, k, u, "amin", include_self=False)
p.scatter_reduce(0, k, p, "sum")  p.scatter_reduce(0, k, p, "prod")
p.scatter_reduce(0, k, p, "amax")
p.scatter_reduce(0, k, p, "mean")  m.scatter_reduce(0, k, m, "add")
m.scatter_reduce(0, k, m.double(), "sum")
m.scatter_reduce(0, k, 1.0, "sum")                 m.scatter_reduce(0, k + 9, m, "sum")
m.scatter_reduce(0, -k, m, "sum")                  m.scatter_reduce(0, k, m[:1], "sum")
v.scatter_reduce(0, i, v[:3], reduce="mean")       s.scatter_reduce(0, i[0] * 0, s, "sum")
m.index_reduce(0, i, m, "prod")   m.index_reduce(1, i, m[:, :3], "mean")
m.index_reduce(0, i, m, "amax")   m.index_reduce(1, j, m[:, :3], "amin")
m.index_reduce(0, i, m, "mean", include_self=False)
m.index_reduce(0, i, m, "prod", include_self=False)
m.index_reduce(-1, j, m[:, :3], "amax", include_self=False)
m.index_reduce(0, i, m, "sum")    m.index_reduce(0, -i, m, "prod")
m.index_reduce(0, i + 9, m, "prod")
m.index_reduce(0, i.int(), m, "prod")              m.index_reduce(0, i, m.double(), "prod")
m.index_reduce(0, i, m[:2], "prod")                n.index_reduce(0, i, n, "mean")
p.index_reduce(0, i, p, "amax")   p.index_reduce(0, i, p, "mean")
v.index_reduce(0, i, v[:3], "prod")
m.put(i, v[:3])  m.put(i, v)      m.put(k, v[:4].view(2, 2), accumulate=True)
m.put(-k, v[:4])                  m.put(k + 99, v[:4])              m.put(i.int(), v[:3])
m.put(i, v[:3].double())          torch.put(m, k, v[1:])            s.put(i[:1] * 0, s)
x.put(j, v[:3], True)             n.put(i, n[0, :3])                e.put(i[:0], v[:0])
m.take(k)        m.take(-k)       m.take(k + 99)   m.take(i.int())
x.take(torch.tensor([23, -24, 7]))
e.take(i)        e.take(i[:0])    s.take(k * 0)    torch.take(m, torch.tensor(3))  p.take(k)
m.take(k[:, :0])
m.masked_scatter(p, m)            m.masked_scatter(p, v)            m.masked_scatter(p[0], x)
m[0].masked_scatter(p, m)         m.masked_scatter(p, m.double())   m.masked_scatter(p.byte(), m)
m.masked_scatter(q[:, None], m)   x.masked_scatter(p, x)
m.masked_scatter(p & False, v[:0])
s.masked_scatter(s > -99, v)      n.masked_scatter(p, n)            m.masked_scatter(q, m)
m.diagonal_scatter(v[:3])         m.diagonal_scatter(v[:2], 2)      m.diagonal_scatter(v)
m.diagonal_scatter(v[:3].double())                 x.diagonal_scatter(m[:, :2], 0, 0, 1)
x.diagonal_scatter(x.diagonal(0, 0, 1) * 2, 0, 0, 1)
m.diagonal_scatter(v[:2], offset=-1)
m.select_scatter(v[:4], 0, 1)     m.select_scatter(v[:3], 1, -1)    m.select_scatter(v[:4], 0, 9)
m.select_scatter(v[:3], 0, 1)     m.select_scatter(v[:4].double(), 0, -1)
m.select_scatter(v[:4], 2, 0)
m.slice_scatter(m[:2], 0, 1)      m.slice_scatter(m[:, :2], 1, None, None, 2)
m.slice_scatter(m[:1], 0, 1)
m.slice_scatter(m[:2], 0, 1, step=0)               m.slice_scatter(m * 2)
x.slice_scatter(x[:, :1], 1, -1, 99)
n.slice_scatter(m[:1], start=2)   torch.slice_scatter(m, m[:2], end=2)
torch.unravel_index(i, (3, 4))    torch.unravel_index(k, 3)
torch.unravel_index(i + 90, (3, 4))
torch.unravel_index(-i, [3, 4])   torch.unravel_index(i.int(), (2, 2, 2))
torch.unravel_index(v, 12)
torch.unravel_index(i, ())        torch.unravel_index(i, (3, -4))   torch.unravel_index(i, (3, 'a'))
torch.unravel_index(i[0], torch.zeros(3, 4).shape)                  torch.unravel_index(q, (3, 4))
m.index_copy(0, i.int(), m)       m.index_copy(0, i[0], v[:4])      m.index_copy(0, i[:2], v[:4])
m.index_copy(0, i, m[:2])         s.index_copy(0, i[:1] * 0, s)     m.index_copy(0, i, m.double())
m.index_fill(0, i.int(), 1.0)     m.index_fill(0, i.short(), 1.0)   s.index_fill(0, i * 0, 1.5)
m.index_fill(0, i.double(), 1.0)  m.index_fill(1, i, s.double())
n.index_add(0, i, n, alpha=1.5)   m.index_add(0, i, m, alpha=1.5)   p.index_add(0, i, p, alpha=2)
m.index_add(0, i.int(), m)        m.index_add(0, i.short(), m)      s.index_add(0, i[:1] * 0, s)
m.index_add(0, i[:1], v[:4])      s.index_add(0, i[:2] * 0, v[:2])  p.index_add(0, i, p)
s.index_select(0, i * 0)          m.index_select(0, i.short())      m.index_select(0, i[:0])
m.index_select(1, j.int())        e.index_select(0, i[:1] * 0)      e.index_select(1, i)
m.gather(0, k.byte())             m.gather(0, k.short())
s.gather(0, torch.tensor([0, 0]))
m.scatter(0, k.short(), 1.0)      m[i.short()]     m[i.char()]      m[i.byte()]
m.nonzero(as_tuple=1)             torch.nonzero(m, as_tuple=True)   x.nonzero(as_tuple=False)
torch.argwhere(s)                 torch.where(m)                    torch.where(s)
m.repeat_interleave(torch.tensor([1, 2, 3]), 0, output_size=6)
m.repeat_interleave(torch.tensor([1, 2, 3]), 0, output_size=7)
m.repeat_interleave(2, 0, output_size=6)           m.repeat_interleave(2, 0, output_size=7)
m.repeat_interleave('a')          m.repeat_interleave(1.5)
m.repeat_interleave(torch.tensor([1, -2, 3]), 0)
m.repeat_interleave(torch.tensor([[2]]), 0)        torch.repeat_interleave(torch.tensor([[1, 2]]))
torch.repeat_interleave(i.int())  torch.repeat_interleave(i.byte())
torch.repeat_interleave(torch.tensor(3))       i.repeat_interleave()      i.repeat_interleave(i, i)
torch.repeat_interleave(repeats=i, output_size=4)  torch.repeat_interleave(repeats=2)
torch.repeat_interleave(repeats=i, dim=0)      x.max(other=x.t().t())     torch.min(x, other=x * 2)
x.max(other=2)                   x.max(0, other=x)          x.max(x, True)
torch.repeat_interleave(i, output_size=4)          x.repeat_interleave(i, 1)  v.repeat_interleave(3)
torch.rot90(m, 1, (0, 0))         torch.rot90(m, 1, (0,))           torch.rot90(v)
torch.rot90(x, 3, (-1, 0))
torch.roll(s, 1, 0)               torch.roll(m, 'a')                torch.flip(m, 0)
torch.flip(m, (0, 0))  m.flip()
torch.tril(m, 1.5)                torch.tril(v)    torch.tril(p)    torch.triu(n, -1)  x.tril(99)
x.triu(-99)
m.gather(0, k.byte()[:0])         v.gather(0, k.byte()[:0])         m.gather(0, v[:0])
m.scatter(0, k.byte()[:0], m)     m.scatter_add(0, v[:0], m)        m.scatter(0, v[:0], m.double())
m.index_select(0, v[:0])          m.take_along_dim(k - 3, 1)        m.take_along_dim(k + 9, 0)
s.take_along_dim(i[0] * 0, 0)     s.take_along_dim(i[0] - 9)
m[:1, :1].index_add(0, i[:1] * 0, m[:1, :1])       v[:1].index_copy(0, i[:1] * 0, v[:1])
v[:1].index_reduce(0, i[:1] * 0, v[:1], "mean")    v[::5].scatter(0, i[:1] * 0, 1.0)
s.index_reduce(0, i[:1] * 0, s, "mean")            s.index_reduce(0, i[:1] * 0, s, "prod")
(m / 0).index_reduce(0, i, (m > 0) * m, "prod")    (m / 0).scatter_reduce(0, k, m * 0, "prod")
m.gather(0, k, out=m)             m.sort(out=(m, k))                m.add(1, out=m)  m.exp(out=m)
torch.as_strided(m[1:], (2, 3), (2, 1), 0)         torch.as_strided(m[1:], (3, 3), (1, 2), 2)
"""

# Statements; what `m`, `x`, ... are afterwards is compared.
WRITES = """
m[0] = 1.5       m[-1] = s        m[:, 1] = m[:, 0]  m[1:] = m[:1]  m[0] = v
m[0, 0] = 7      m[...] = 2       m[()] = s        m[None] = 1.0    m[:, None] = 3
m[0] = [1, 2]    m[0] = None      m[0] = 'a'       m[0] = np.ones(4)  m[0] = np.float64(3)
m[5] = 1         m[::-1] = 1      m[1.5] = 1       m[10**30] = 1    m[0, 0] = 10**30
m[0] = m[None, None, 1]           m[0:2] = m[1:3]  m[:, 0:2] = m[:, 1:3]
m[0] = m[0].double()              n[0] = 1.5       n[0] = s         n[0] = True
n[0] = float('inf')               u[0] = 300       u[0] = -1        u[0] = -300
u.fill_(300)     n.fill_(1.5)     n.fill_(float('nan'))             m.fill_(1e300)
m.fill_(s)       m.fill_(v)       m.fill_('a')     m.fill_(value=2)  m.zero_()
m.copy_(m[0])    m.copy_(s)       m[0].copy_(m[1])  m.copy_(v)      m.copy_([1])
m.copy_(n)       n.copy_(m)       m.t().copy_(m[:3, :3])            v.copy_(True)
s[...] = 1       s[None] = 2      s[0] = 1         s[True] = 4      m[True] = 1
m[False] = 1     m[p] = 0         m[p] = v[:1]     m[p] = s         m[q] = 1.5
m[p] = v         x[:, p] = 0      x[0][p] = 1.0    x[p] = 1         m[p] = m[p] * 2
m[q, 0] = 5      m[q] = m[0].clone()               m[~p] = float('nan')
m[[0, 2]] = 1    m[i] = 2.5       m[:, i] = s      m[[0, 2]] = m[:2].clone()
m[[0, 2]] = m[:, :2].clone()
m[[0, 2]] = m[None, :2].clone()   m[[2, 0], [1, 3]] = v[:2]         m[[0, 9]] = 1
m[[0]] = m[:1].double()           n[[0]] = 1.5     u[[0]] = 300     n[p] = 2.5
m[[0]] = s.double()  m[p] = s.double()             x[0, :, [1, 2]] = 0.0
x[:, [0, 2], 1:] = 1              x[[0], :, [3]] = m[:, 0]          x[1, [0, 1]] = m[0]
x[..., [1, 2]] = x[..., :2].clone()
m[[0, 1]] += 1   m[0] += m[1]     m[:, 1] *= 2     m[p] -= 1        x[0, 1:] /= 2
m.scatter_(0, k, 9.0)             m.scatter_(1, k, m.clone())       m.scatter_(0, k, value=3)
m.scatter_add_(0, k, m.clone())   m.index_add_(0, i, m.clone())
m.index_add_(0, i, m.clone(), alpha=-1)
m.index_fill_(1, i, 4)            m.index_copy_(0, torch.tensor([2, 0, 1]), m.clone())
m.index_put_((i, j), v[:3], accumulate=True)       m.index_put_((p,), s)
m.masked_fill_(p, 6)              m.masked_fill_(p[:, :1], s)       v.masked_fill_(p, 1)
m.t().masked_fill_(p.t(), -1)     m.tril_()        m.triu_(1)       x[1].tril_(-1)
m.scatter_(0, k, 2.0, reduce="add")                m.scatter_(1, k, m.clone(), reduce="multiply")
m.scatter_reduce_(0, k, m.clone(), "prod")         m.scatter_reduce_(1, k, m.clone(), "mean")
m.scatter_reduce_(0, k, m.clone(), "amax", include_self=False)
n.scatter_reduce_(0, k, n.clone(), "amin")
m.index_reduce_(0, i, m.clone(), "mean")           m.index_reduce_(1, j, m[:, :3].clone(), "amin")
m.put_(k, v[1:])                  m.put_(i, v[:3], accumulate=True)  m.put_(-k, v[1:])
m.put_(k + 50, v[1:])
m.put_(i, v)                      m.put_(i, n[0, :3])               x.put_(i, x[0, 0, :3].clone())
m.masked_scatter_(p, x)           m.masked_scatter_(q[:, None], x)  v.masked_scatter_(p, v)
m.masked_scatter_(p, v[:1])
           x[0].masked_scatter_(p, m)
m.fill_diagonal_(9)               m.t().fill_diagonal_(9.5)         n.fill_diagonal_(1.5)
v.fill_diagonal_(1)
x.fill_diagonal_(1)               m[:, :2].fill_diagonal_(s)
m[:, :1].fill_diagonal_(3, wrap=True)
m.fill_diagonal_(fill_value=2, wrap=True)
m.as_strided_((2, 2), (1, 2), 1)  m.as_strided_((2,), (99,))        v.as_strided_((2,), (1,))
m[p.byte()] = 1                   m[i.int()] = 1                    m[i.short()] = 1
m[np.array([0, 2])] = 5           m[np.array([True, False, True])] = 6  m[range(2)] = 7
m[np.int64(1), ::2] = 8
x[None, 0, :, [1, 2]] = 4         x[:, None, p] = 1  x[p[:2, 0]] = 2  m[k] = v[:4]  m[k, k] = s
m[i, j] += 1                      m[[0, 0, 1]] -= 2  v[v > 0] *= -1  m[p] = float("nan")
m[m > 0] = True
m.index_put_((i, j), s, accumulate=True)           m.index_put_((k,), v[:4], True)
x.index_put_((i % 2,), m, True)   x.index_put_((p[:2, 0],), m, True)
m.t().index_put_((j, i), v[:3], True)
m.index_add_(1, j, m[:, :3].clone())               x.index_add_(2, i, x[..., :3].clone())
x.index_copy_(1, i[:2], x[:, :2].clone())          x.index_fill_(2, i, s)
x[p] = 1.5       x[i[:2] % 2] = m[0].clone()       m[i] = x[0].clone()  m[i, j] = v[:3]
m.index_fill_(0, i, 3)            m.index_put_((i,), m.clone(), True)
m.index_put_((q,), s)             m.masked_fill_(p, s)              m.masked_fill_(q[:, None], 4)
m.triu_()        m.tril_(1)       x.triu_(-1)      x.tril_(-1)      m[:] = m[:1]  m[:] = m
"""


# `o` is the tensor written to, of a fitting shape and dtype or not: z empty, d float64, l int64.
OUTS = """
torch.gather(m, 0, k, out=o)      torch.scatter(m, 0, k, m, out=o)
torch.scatter(m, 0, k, 1.0, out=o)
torch.scatter_add(m, 0, k, m, out=o)               torch.scatter_reduce(m, 0, k, m, "amax", out=o)
torch.index_select(m, 0, i, out=o)                 torch.index_add(m, 0, i, m, out=o)
torch.index_copy(m, 0, i, m, out=o)                torch.index_reduce(m, 0, i, m, "prod", out=o)
torch.take(m, k, out=o)           torch.take_along_dim(m, k[:1, :1], 1, out=o)
torch.masked_select(m, p, out=o)  torch.nonzero(m, out=o)           torch.where(p, m, m, out=o)
torch.where(p, m, 1, out=o)       torch.cat((m, m), out=o)          torch.cat((m, n), 1, out=o)
torch.stack((m, m), out=o)        torch.hstack((m, n), out=o)       torch.vstack((v, v), out=o)
torch.dstack((m, m), out=o)       torch.column_stack((v, v), out=o)  torch.tril(m, out=o)
torch.triu(m, 1, out=o)           torch.diag(v, out=o)
torch.nonzero(m, as_tuple=True, out=o)
torch.nonzero(m, as_tuple=True, out=(o,))
torch.slice_scatter(m, m[:2], 0, 1, out=o)
torch.index_select(m, 0, i, out=o[:1].expand(9, 9))
"""


def cases(text: str) -> list[str]:
    parts = [part.strip() for line in text.splitlines() for part in line.split("  ")]
    return [part for part in parts if part]


def tensors(module, layout: str, dtype: str = "float32") -> dict:
    made = {}
    for name, shape in SHAPES.items():
        usable = layout if shape and 0 not in shape else "contiguous"
        made[name] = make(module, VALUES.astype(dtype), shape, usable)
    made["n"] = made["m"].long()
    made["u"] = made["m"].abs().byte()
    made["i"] = module.tensor([2, 0, 2])
    made["j"] = module.tensor([1, 3, 1])
    made["k"] = module.tensor([[0, 1], [1, 1]])
    made["p"] = made["m"] > 0
    made["q"] = module.tensor([True, False, True])
    return {"torch": module, "np": np, **made}
