import re
from java.util import TreeMap


class Shape(object):
    def __init__(self, size):
        self.size = size

    def area(self):
        raise NotImplementedError(self.__class__.__name__)


class Square(Shape):
    def area(self):
        return self.size ** 2


def primes(limit):
    sieve = [True] * limit
    for n in range(2, limit):
        if sieve[n]:
            yield n
            for m in range(n * n, limit, n):
                sieve[m] = False


def collatz(n):
    return 0 if n == 1 else 1 + collatz(n // 2 if n % 2 == 0 else 3 * n + 1)


counts = TreeMap()
for word in re.findall(r"[a-z]+", "the cat and the dog and the bird " * 20):
    counts.put(word, (counts.get(word) or 0) + 1)
print(counts)
print(sum(primes(2000)), max(collatz(n) for n in range(1, 200)))
print(sum(Square(n).area() for n in range(100)))
try:
    Shape(1).area()
except NotImplementedError as e:
    print("not implemented: %s" % e)
print(sorted({n % 7: str(n) for n in range(50)}.items()))
