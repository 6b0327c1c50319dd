//! The event that describes all types.

use super::super::encoding::{enclose, integer, text};
use super::events::EVENTS;
use super::values::VALUES;
use super::{Class, Field, Role, Storage, Type};
use std::collections::HashMap;

/// Appends the metadata: the event that describes all types, for a chunk that begins at `ticks`.
pub(in super::super) fn metadata(ticks: u64, out: &mut Vec<u8>) {
    let mut strings = Strings::default();
    let mut tree = Vec::new();
    strings.root(&mut tree);
    enclose(out, Type::Metadata, |out| {
        integer(out, ticks);
        integer(out, 0); // duration
        integer(out, 1); // id of this metadata
        integer(out, strings.all.len() as u64);
        for string in &strings.all {
            text(out, Some(string));
        }
        out.extend(&tree);
    });
}

/// The strings of the metadata, each once. Elements refer to them by index.
#[derive(Default)]
struct Strings {
    index: HashMap<String, u64>,
    all: Vec<String>,
}

impl Strings {
    fn reference(&mut self, string: &str, out: &mut Vec<u8>) {
        let next = self.all.len() as u64;
        let index = *self.index.entry(string.to_owned()).or_insert(next);
        if index == next {
            self.all.push(string.to_owned());
        }
        integer(out, index);
    }

    /// Writes the begin of an element. So many child elements follow.
    fn element(
        &mut self,
        name: &str,
        attributes: &[(&str, &str)],
        children: usize,
        out: &mut Vec<u8>,
    ) {
        self.reference(name, out);
        integer(out, attributes.len() as u64);
        for (attribute, value) in attributes {
            self.reference(attribute, out);
            self.reference(value, out);
        }
        integer(out, children as u64);
    }

    fn root(&mut self, out: &mut Vec<u8>) {
        self.element("root", &[], 2, out);
        self.element("metadata", &[], VALUES.len() + EVENTS.len(), out);
        for class in VALUES.iter().chain(EVENTS) {
            self.class(class, out);
        }
        let region = [("locale", "en_US"), ("gmtOffset", "0")];
        self.element("region", &region, 0, out);
    }

    fn class(&mut self, class: &Class, out: &mut Vec<u8>) {
        let id = (class.id as u8).to_string();
        let mut attributes = vec![("id", id.as_str()), ("name", class.name)];
        match class.role {
            Role::Plain => {}
            Role::Simple => attributes.push(("simpleType", "true")),
            Role::Annotation | Role::Unit => {
                attributes.push(("superType", "java.lang.annotation.Annotation"));
            }
            Role::Event => attributes.push(("superType", "jdk.jfr.Event")),
        }
        let mut annotations = Vec::new();
        if class.role == Role::Unit {
            annotations.push((Type::Content, Vec::new()));
        }
        if !class.label.is_empty() {
            annotations.push((Type::Label, vec![("value", class.label)]));
        }
        if !class.description.is_empty() {
            annotations.push((Type::Description, vec![("value", class.description)]));
        }
        let levels = ["value-0", "value-1", "value-2"];
        if !class.category.is_empty() {
            let category = class.category.iter();
            let category = levels.into_iter().zip(category.copied());
            annotations.push((Type::Category, category.collect()));
        }
        let children = class.fields.len() + annotations.len();
        self.element("class", &attributes, children, out);
        for field in class.fields {
            self.field(field, out);
        }
        for (id, values) in annotations {
            self.annotation(id, &values, out);
        }
    }

    fn field(&mut self, field: &Field, out: &mut Vec<u8>) {
        let id = (field.id as u8).to_string();
        let mut attributes = vec![("name", field.name), ("class", id.as_str())];
        match field.storage {
            Storage::Inline => {}
            Storage::Array => attributes.push(("dimension", "1")),
            Storage::Pool => attributes.push(("constantPool", "true")),
        }
        let has_label = !field.label.is_empty();
        let annotations = usize::from(has_label) + field.units.len();
        self.element("field", &attributes, annotations, out);
        if has_label {
            self.annotation(Type::Label, &[("value", field.label)], out);
        }
        for (id, unit) in field.units {
            match unit.is_empty() {
                true => self.annotation(*id, &[], out),
                false => self.annotation(*id, &[("value", unit)], out),
            }
        }
    }

    fn annotation(&mut self, id: Type, values: &[(&str, &str)], out: &mut Vec<u8>) {
        let id = (id as u8).to_string();
        let mut attributes = vec![("class", id.as_str())];
        attributes.extend(values);
        self.element("annotation", &attributes, 0, out);
    }
}
