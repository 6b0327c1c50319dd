//! Remarks of the trace-log decoder.

use crate::RemarkKind;
use crate::tally::{corrupt, fault, kinds, odd, skipped};

kinds! {
    /// Kinds of remarks. The name of a record is its type and sub-type.
    pub(crate) enum Remarked: RemarkKind {
        OtherRecords = skipped(
            "jit cms, jit css, jit csf, gch gen, lin src, fil src",
            "records that no event holds"
        ),
        UnknownRecords = skipped("others", "unknown records"),
        Texts = odd("all with texts", "texts not in UTF-8, read with U+FFFD"),
        ProcessNumbers = odd("apd crf", "process numbers above 31 bits, read as 0"),
        Domains = skipped("apd crf", "further application domains"),
        Statuses = skipped("apd crf, asm ldf, mod ldf, cls ldf", "statuses other than 0"),
        Ids = skipped(
            "thr crt, thr dst, apd crf, asm ldf, cls ldf, fun inf",
            "ids that are not made of internal ones"
        ),
        Tokens = skipped("cls ldf, fun inf", "tokens that are not made of internal ids"),
        OsIds = skipped("thr aos", "numbers of a thread 0 on which nothing happens"),
        Assemblies = skipped("asm ldf", "assemblies of no class"),
        BaseAddresses = skipped("mod ldf", "base addresses"),
        ModuleNames = skipped("mod ldf", "names that are not those of their assemblies"),
        NoModules = odd("cls ldf", "classes of modules that are not loaded, read without a loader"),
        NamelessClasses = skipped("cls ldf", "classes that get no name"),
        FunctionModules = skipped("fun inf", "modules that are not those of their classes"),
        NamelessFunctions = skipped("fun inf", "functions that get no name"),
        MapsAlone = skipped("fun inf", "code maps without code"),
        BytecodeMaps = skipped("fun inf", "code maps of offsets in bytecode instead of lines"),
        Backwards = odd("fun inf", "ranges of code that end before they start"),
        RangeEnds = odd("fun inf", "ranges of code that reach into the next one, cut there"),
        FailedCompilations = skipped("jit cmf", "compilations that failed"),
        LateFunctions = skipped("jit cmf", "compilations of functions that are not yet defined"),
        Workers = skipped("jit cmf, gch gcs, gch gcf", "threads of the JVM's own work"),
        Generations = odd("gch gcs", "generations, read as young or full"),
        Pointers = skipped("sam str, sam mem", "instruction pointers"),
        UnknownStacks = skipped("sam str", "records of threads whose stack is not known"),
        Ticks = skipped("sam str", "ticks in a trace of calls"),
        DeepStacks = odd("sam str", "samples with more than 4096 frames or 1 MiB of names, cut"),
        LongMaps = odd("fun inf", "code maps with more than 1 MiB of names, cut"),
        AllocationStacks = skipped("sam str", "stacks of allocations in a trace of samples"),
        NoStartTime = fault("prf stm", "no start time in the first line"),
        LateStartTimes = corrupt("prf stm", "start times after the first line"),
        LateOptions = fault("prf cfg", "options after the configuration"),
        LongLines = corrupt("all", "lines longer than 16 MiB"),
        NoRecords = corrupt("others", "lines that begin like no record"),
        Fields = corrupt("all", "fields that do not fit the record"),
        ThreadsAgain = corrupt("thr crt", "threads that exist already"),
        EndsAgain = corrupt("thr dst", "ends of threads that have ended"),
        EndedThreads = fault("all", "threads used after their end"),
        UndefinedThreads = fault("all", "threads used before their definition"),
        ClassesAgain = corrupt("cls ldf", "classes that exist already"),
        ClassNamesAgain = corrupt("cls nam", "names of classes that have one"),
        UndefinedClasses = fault("all", "classes used before they have a name"),
        FunctionsAgain = corrupt("fun inf", "functions that exist already"),
        FunctionNamesAgain = corrupt("fun nam", "names of functions that have one"),
        UndefinedFunctions = fault("all", "functions used before they have a name"),
        MapNumbers = corrupt("fun inf", "ranges of code with numbers out of range"),
        Depths = fault("sam str", "depths that are not those of the stack; frames that fit stay"),
    }
}
