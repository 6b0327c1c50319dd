class Account {
    String owner
    BigDecimal balance = 0

    def deposit(amount) {
        if (amount <= 0) throw new IllegalArgumentException("amount $amount")
        balance += amount
        this
    }
}

trait Named {
    String describe() { "named ${name()}" }
    abstract String name()
}

class Thing implements Named {
    String name() { 'thing' }
}

def accounts = (1..50).collect { new Account(owner: "owner $it").deposit(it * 10) }
println accounts.findAll { it.balance > 400 }*.owner
println accounts.groupBy { it.balance.intValue() % 3 }.collectEntries { k, v -> [k, v.sum { it.balance }] }
try {
    accounts[0].deposit(-1)
} catch (IllegalArgumentException e) {
    println "failed: $e.message"
}
def fib
fib = { n -> n < 2 ? n : fib(n - 1) + fib(n - 2) }
println fib(12)
println new Thing().describe()
println 'a-b-c'.split('-').inject('') { all, part -> all + part * 2 }
String.metaClass.shout = { -> delegate.toUpperCase() + '!' }
println 'hello'.shout()
