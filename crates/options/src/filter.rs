//! Which methods are traced.
//!
//! A list of rules; the first that fits a class and method decides. A value of `include` or
//! `exclude` without a method part speaks of a class and the classes nested in it: `com.acme.Foo`
//! becomes the two rules `com.acme.Foo` and `com.acme.Foo$*`, because who traces a class wants its
//! lambdas and anonymous classes too. `exclude=com.acme.Foo$*,include=com.acme.Foo` leaves them
//! out. With a method part only the class itself is meant.

use crate::pattern::{Pattern, split_class_method};

/// One rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Fits names of classes as `Class.getName` prints them: `com.acme.Foo$Inner`.
    pub class: Pattern,
    /// Fits names of methods: `run`, `<init>`.
    pub method: Pattern,
    /// Whether what it fits is traced.
    pub include: bool,
}

/// What holds for a whole class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ClassVerdict {
    /// All its methods are traced.
    All,
    /// None is.
    None,
    /// It depends on the method: ask [`Filter::method`].
    ByMethod,
}

/// The rules in force.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    rules: Vec<Rule>,
    /// Without a rule that fits, the JDK's classes are traced too.
    jdk_too: bool,
}

impl Filter {
    /// The rules in the order in which they are tried. When an `include` was given, the last one
    /// excludes everything else.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What holds for a class. `class` is its name with dots; `jdk` says whether it is the JDK's
    /// own.
    pub fn class(&self, class: &str, jdk: bool) -> ClassVerdict {
        // Whether some method is in, or out, by a rule for single methods.
        let (mut some_in, mut some_out) = (false, false);
        let mut rest = self.otherwise(jdk);
        for rule in self.rules.iter().filter(|r| r.class.matches(class)) {
            if rule.method.is_any() {
                rest = rule.include;
                break;
            }
            some_in |= rule.include;
            some_out |= !rule.include;
        }
        match (rest || some_in, !rest || some_out) {
            (true, true) => ClassVerdict::ByMethod,
            (true, false) => ClassVerdict::All,
            (false, _) => ClassVerdict::None,
        }
    }

    /// Whether a method is traced. Names as in [`Self::class`], the method's without descriptor.
    pub fn method(&self, class: &str, method: &str, jdk: bool) -> bool {
        let rule = self
            .rules
            .iter()
            .find(|r| r.method.matches(method) && r.class.matches(class));
        rule.map_or_else(|| self.otherwise(jdk), |r| r.include)
    }

    fn otherwise(&self, jdk: bool) -> bool {
        self.jdk_too || !jdk
    }

    /// The rules of `include` (true) and `exclude` values, in the order given, as the options have
    /// them.
    ///
    /// # Errors
    /// Which value is wrong, and a sentence that says why.
    pub fn from_patterns(patterns: &[(bool, String)]) -> Result<Self, (usize, String)> {
        let mut rules = Vec::new();
        for (n, (include, value)) in patterns.iter().enumerate() {
            push_rules(&mut rules, value, *include).map_err(|problem| (n, problem))?;
        }
        Ok(Self::from_rules(rules))
    }

    /// The rules of a TPTP filter file. None fits: traced, as its specification says.
    pub(crate) fn from_file(rules: Vec<Rule>) -> Self {
        Self {
            rules,
            jdk_too: true,
        }
    }

    /// The rules of `include` (true) and `exclude` values in the order given.
    pub(crate) fn from_rules(mut rules: Vec<Rule>) -> Self {
        if rules.iter().any(|r| r.include) {
            rules.push(Rule {
                class: Pattern::any(),
                method: Pattern::any(),
                include: false,
            });
        }
        Self {
            rules,
            jdk_too: false,
        }
    }
}

/// Adds the rules of one `include` or `exclude` value.
pub(crate) fn push_rules(rules: &mut Vec<Rule>, value: &str, include: bool) -> Result<(), String> {
    let (class, method) = split_class_method(value)?;
    let nested = method.is_none() && !class.ends_with('*');
    let method = method.map_or_else(Pattern::any, Pattern::new);
    rules.push(Rule {
        class: Pattern::new(class),
        method: method.clone(),
        include,
    });
    if nested {
        rules.push(Rule {
            class: Pattern::new(&format!("{class}$*")),
            method,
            include,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ClassVerdict::{All, ByMethod, None};

    /// `+value` includes, `-value` excludes.
    fn filter(rules: &[&str]) -> Filter {
        let mut out = Vec::new();
        for rule in rules {
            push_rules(&mut out, &rule[1..], rule.starts_with('+')).expect(rule);
        }
        Filter::from_rules(out)
    }

    #[test]
    fn without_rules_the_application_is_in_and_the_jdk_out() {
        let f = filter(&[]);
        assert_eq!(f.class("a.B", false), All);
        assert_eq!(f.class("java.lang.String", true), None);
        assert!(f.method("a.B", "m", false));
        assert!(!f.method("java.lang.String", "length", true));
    }

    #[test]
    fn verdicts_on_classes() {
        let cases: &[(&[&str], &str, bool, ClassVerdict)] = &[
            (&["+a.*"], "a.B", false, All),
            (&["+a.*"], "b.B", false, None),
            (&["+java.util.*"], "java.util.List", true, All),
            (&["-a.*"], "a.B", false, None),
            (&["-a.*"], "b.B", false, All),
            (&["-a.*"], "java.lang.String", true, None),
            (&["-a.b.*", "+a.*"], "a.b.C", false, None),
            (&["-a.b.*", "+a.*"], "a.C", false, All),
            (&["+a.*", "-a.b.*"], "a.b.C", false, All),
            (&["+a.Foo"], "a.Foo$Inner", false, All),
            (&["+a.Foo"], "a.Foo$$Lambda/0x1", false, All),
            (&["+a.Foo"], "a.Foot", false, None),
            (&["-a.Foo$*", "+a.Foo"], "a.Foo$1", false, None),
            (&["-a.Foo$*", "+a.Foo"], "a.Foo", false, All),
            (&["+a.Foo.bar"], "a.Foo", false, ByMethod),
            (&["+a.Foo.bar"], "a.Foo$Inner", false, None),
            (&["-*.toString"], "a.B", false, ByMethod),
            (&["-*.toString"], "java.lang.String", true, None),
            (&["+*.toString", "+a.*"], "a.B", false, All),
            (&["+*.toString", "+a.*"], "b.B", false, ByMethod),
            (&["-*.toString", "-a.*"], "a.B", false, None),
            (&["+*Test"], "a.MyTest", false, All),
            (&["+*Test"], "a.MyTest$1", false, All),
        ];
        for (rules, class, jdk, expected) in cases {
            assert_eq!(
                filter(rules).class(class, *jdk),
                *expected,
                "{rules:?} {class}"
            );
        }
    }

    #[test]
    fn verdicts_on_methods() {
        let cases: &[(&[&str], &str, &str, bool)] = &[
            (&["+a.Foo.bar"], "a.Foo", "bar", true),
            (&["+a.Foo.bar"], "a.Foo", "baz", false),
            (&["-*.toString", "+a.*"], "a.B", "toString", false),
            (&["-*.toString", "+a.*"], "a.B", "run", true),
            (&["-a.Foo.get*"], "a.Foo", "getX", false),
            (&["-a.Foo.get*"], "a.Foo", "setX", true),
            (&["-a.Foo.<init>"], "a.Foo", "<init>", false),
            (&["+a.Foo.bar", "-a.Foo", "+a.*"], "a.Foo", "baz", false),
        ];
        for (rules, class, method, expected) in cases {
            assert_eq!(
                filter(rules).method(class, method, false),
                *expected,
                "{rules:?} {method}"
            );
        }
    }

    /// The verdict on the class and those on its methods never contradict each other.
    #[test]
    fn class_and_method_verdicts_agree() {
        let values = ["a.B", "a.*", "a.B.m", "*.n", "*B", "a.B#m*", "*"];
        let mut lists: Vec<Vec<String>> = vec![vec![]];
        for _ in 0..3 {
            for list in lists.clone() {
                for value in values {
                    for mode in ["+", "-"] {
                        let mut list = list.clone();
                        list.push(format!("{mode}{value}"));
                        lists.push(list);
                    }
                }
            }
            lists.truncate(3_000);
        }
        for list in &lists {
            let f = filter(&list.iter().map(String::as_str).collect::<Vec<_>>());
            for class in ["a.B", "a.B$C", "a.C", "x.B", "x.Y"] {
                for jdk in [false, true] {
                    let verdict = f.class(class, jdk);
                    for method in ["m", "mm", "n", "o"] {
                        let traced = f.method(class, method, jdk);
                        match verdict {
                            All => assert!(traced, "{list:?} {class} {method}"),
                            None => assert!(!traced, "{list:?} {class} {method}"),
                            ByMethod => {}
                        }
                    }
                }
            }
        }
    }
}
