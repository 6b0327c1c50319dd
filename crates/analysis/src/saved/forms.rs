//! Serialised forms of maps and lists, for `#[serde(with = …)]`.

/// Hash maps as lists of entries, sorted by key. So equal maps have equal bytes.
pub(crate) mod by_key {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::HashMap;
    use std::hash::{BuildHasher, Hash};

    pub(crate) fn serialize<K, V, H, S>(
        map: &HashMap<K, V, H>,
        serializer: S,
    ) -> Result<S::Ok, S::Error>
    where
        K: Serialize + Ord,
        V: Serialize,
        S: Serializer,
    {
        let mut entries: Vec<(&K, &V)> = map.iter().collect();
        entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
        serializer.collect_seq(entries)
    }

    pub(crate) fn deserialize<'de, K, V, H, D>(
        deserializer: D,
    ) -> Result<HashMap<K, V, H>, D::Error>
    where
        K: Deserialize<'de> + Eq + Hash,
        V: Deserialize<'de>,
        H: BuildHasher + Default,
        D: Deserializer<'de>,
    {
        let entries = Vec::<(K, V)>::deserialize(deserializer)?;
        Ok(entries.into_iter().collect())
    }
}

/// Shared texts.
pub(crate) mod texts {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::sync::Arc;

    pub(crate) fn serialize<S: Serializer>(
        texts: &[Arc<str>],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(texts.iter().map(|text| &**text))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Arc<str>>, D::Error> {
        let texts = Vec::<&str>::deserialize(deserializer)?;
        Ok(texts.into_iter().map(Arc::from).collect())
    }
}

/// The facts about a trace's origin: their keys are constants.
pub(crate) mod facts {
    use crate::origin::KEYS;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Facts = Vec<(&'static str, String)>;

    pub(crate) fn serialize<S: Serializer>(
        facts: &Facts,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        facts.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Facts, D::Error> {
        let facts = Vec::<(&str, String)>::deserialize(deserializer)?;
        let known = facts.into_iter().map(|(key, value)| {
            let key = KEYS.into_iter().find(|known| *known == key);
            Some((key?, value))
        });
        let known: Option<Facts> = known.collect();
        known.ok_or_else(|| D::Error::custom("unknown key of a fact"))
    }
}

/// Ids as differences to the preceding id: ids of neighbours are near each other.
pub(crate) mod steps {
    use jtrail_model::MethodId;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        ids: &[MethodId],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut last = 0_u64;
        let step = |id: &MethodId| id.0.wrapping_sub(std::mem::replace(&mut last, id.0)) as i64;
        serializer.collect_seq(ids.iter().map(step))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<MethodId>, D::Error> {
        let mut last = 0_u64;
        let id = |step: i64| {
            last = last.wrapping_add(step as u64);
            MethodId(last)
        };
        Ok(Vec::deserialize(deserializer)?
            .into_iter()
            .map(id)
            .collect())
    }
}
