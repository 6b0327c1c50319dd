package shapes

sealed class Shape {
    abstract fun area(): Double
}

data class Circle(val radius: Double) : Shape() {
    override fun area() = Math.PI * radius * radius
}

data class Box(val width: Double, val height: Double = width) : Shape() {
    override fun area() = width * height
}

object Registry {
    private val shapes = mutableListOf<Shape>()

    operator fun plusAssign(shape: Shape) {
        shapes += shape
    }

    inline fun <reified T : Shape> of(): List<T> = all().filterIsInstance<T>()

    fun all(): List<Shape> = shapes.toList()
}

fun describe(shape: Shape): String = when (shape) {
    is Circle -> "circle of ${shape.radius}"
    is Box -> if (shape.width == shape.height) "square" else "box"
}

fun main() {
    for (i in 1..10) {
        Registry += if (i % 2 == 0) Circle(i.toDouble()) else Box(i.toDouble())
    }
    val sum = Registry.all().sumOf { it.area() }
    println(Registry.of<Circle>().joinToString { describe(it) } + " $sum")
}
