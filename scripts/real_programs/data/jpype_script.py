"""A JVM inside Python. Arguments: the JVM's library, the class path, the JVM's options."""

import sys
import threading

import jpype
import jpype.imports
from jpype import JImplements, JOverride

jvm, class_path, *options = sys.argv[1:]
jpype.startJVM(jvm, *options, classpath=class_path.split(":"), convertStrings=False)

from java.lang import IllegalStateException, Thread  # noqa: E402
from java.sql import DriverManager  # noqa: E402
from java.util import ArrayList, Collections  # noqa: E402
from java.util.concurrent import Executors, TimeUnit  # noqa: E402


@JImplements("java.util.Comparator")
class ByLength:
    @JOverride
    def compare(self, a, b):
        return len(a) - len(b) or (str(a) > str(b)) - (str(a) < str(b))

    @JOverride
    def equals(self, other):
        return self is other


@JImplements("java.util.concurrent.Callable")
class Job:
    def __init__(self, number):
        self.number = number

    @JOverride
    def call(self):
        if self.number % 7 == 0:
            raise IllegalStateException(f"job {self.number}")
        return str(sum(range(self.number)))


words = ArrayList()
for word in "the quick brown fox jumps over the lazy dog".split():
    words.add(word)
Collections.sort(words, ByLength())  # Java calls Python for each comparison
print(words)

pool = Executors.newFixedThreadPool(4)
futures = [pool.submit(Job(n)) for n in range(50)]
for n, future in enumerate(futures):
    try:
        print(n, future.get())
    except Exception as e:  # Java's, through Python and back
        print(n, type(e).__name__, e.getCause().getMessage())
pool.shutdown()
print(pool.awaitTermination(10, TimeUnit.SECONDS))

connection = DriverManager.getConnection("jdbc:h2:mem:python")
statement = connection.createStatement()
statement.execute("CREATE TABLE t(id INT PRIMARY KEY, name VARCHAR(20))")
insert = connection.prepareStatement("INSERT INTO t VALUES (?, ?)")
for n in range(500):
    insert.setInt(1, n)
    insert.setString(2, f"name {n * 31 % 97}")
    insert.executeUpdate()
result = statement.executeQuery("SELECT name, COUNT(*), SUM(id) FROM t GROUP BY name ORDER BY name LIMIT 20")
while result.next():
    print(result.getString(1), result.getInt(2), result.getLong(3))
try:
    statement.execute("SELECT nothing FROM nowhere")
except Exception as e:
    print(type(e).__name__, str(e.getMessage()).splitlines()[0])
connection.close()


def from_python(found):
    """On a thread of Python's, which JPype attaches when it first calls Java."""
    found.append(str(Thread.currentThread().isDaemon()) + str(Collections.frequency(words, "the")))


found = []
threads = [threading.Thread(target=from_python, args=(found,)) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(found)
jpype.shutdownJVM()
print("after the JVM")
