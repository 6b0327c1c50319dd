//! Which methods are traced.
//!
//! A filter is a list of rules; the first rule that matches a class and method decides. A value of
//! `include` or `exclude` without a method part applies to a class and its nested classes:
//! `com.acme.Foo` becomes the two rules `com.acme.Foo` and `com.acme.Foo$*`, because the class's
//! lambdas and anonymous classes belong to it. `exclude=com.acme.Foo$*,include=com.acme.Foo`
//! excludes them. A value with a method part applies only to the class itself.

use crate::pattern::{Pattern, split_class_method};

/// A rule that includes or excludes the methods that fit it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Pattern of class names in the form of `Class.getName`: `com.acme.Foo$Inner`.
    pub class: Pattern,
    /// Pattern of method names: `run`, `<init>`.
    pub method: Pattern,
    /// True if methods that fit are traced.
    pub include: bool,
}

/// Which methods of a class are traced.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ClassVerdict {
    /// All methods are traced.
    All,
    /// No method is traced.
    None,
    /// Some methods are traced: [`Filter::method`] says which.
    ByMethod,
}

/// Which methods are traced: a list of rules. The first rule that matches a method decides.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    rules: Vec<Rule>,
    /// True if methods that no rule matches are traced even if they are the JDK's.
    jdk_too: bool,
}

impl Filter {
    /// Returns the rules in the order in which they are tried. If there is an `include`, the last
    /// rule excludes everything else.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns which methods of a class are traced. `class` is its name with dots; `jdk` is true if
    /// the class is the JDK's own.
    pub fn class(&self, class: &str, jdk: bool) -> ClassVerdict {
        // True if an earlier rule for single methods includes some methods; true if one excludes
        // some.
        let (mut some_in, mut some_out) = (false, false);
        let mut rest = self.default_for(jdk);
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

    /// True if a method is traced. `class` and `jdk` are as in [`Self::class`]; `method` is the
    /// name without a descriptor.
    pub fn method(&self, class: &str, method: &str, jdk: bool) -> bool {
        let rule = self
            .rules
            .iter()
            .find(|r| r.method.matches(method) && r.class.matches(class));
        rule.map_or_else(|| self.default_for(jdk), |r| r.include)
    }

    /// True if methods that no rule matches are traced.
    fn default_for(&self, jdk: bool) -> bool {
        self.jdk_too || !jdk
    }

    /// Returns the filter for values of `include` (true) and `exclude` (false), in the order in
    /// which they were given.
    ///
    /// # Errors
    /// Returns the index of the wrong value, and a sentence that says why it is wrong.
    pub fn from_patterns(patterns: &[(bool, String)]) -> Result<Self, (usize, String)> {
        let mut rules = Vec::new();
        for (n, (include, value)) in patterns.iter().enumerate() {
            push_rules(&mut rules, value, *include).map_err(|problem| (n, problem))?;
        }
        Ok(Self::from_rules(rules))
    }

    /// Returns the filter for the rules of a TPTP filter file. Methods that no rule matches are
    /// traced, as TPTP's specification demands.
    pub(crate) fn from_file(rules: Vec<Rule>) -> Self {
        Self {
            rules,
            jdk_too: true,
        }
    }

    /// Returns the filter for rules of `include` and `exclude`, in the order in which they were
    /// given.
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

/// Adds the rules of a value of `include` or `exclude`.
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

    /// Builds a filter: `+value` includes, `-value` excludes.
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

    /// The verdict on a class never contradicts the verdicts on its methods.
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
