//! Log profiles: what is written, and what is read back.

mod common;

use common::{Decoding, decode, decode_pieces, every_event, shown};
use jtrail_formats::{Encode, Format, mlpd, mlpd::DataVersion};

#[test]
fn smoke() {
    for version in [DataVersion::V1, DataVersion::V17] {
        let mut encoder = mlpd::Encoder::new(version);
        let mut out = Vec::new();
        encoder.begin(&mut out);
        for e in every_event() {
            encoder.event(&e, &mut out);
        }
        encoder.end(&mut out);
        std::fs::write(format!("/tmp/c4-{version:?}.mlpd"), &out).unwrap();
        println!("{:?}", encoder.losses());
        let d = decode(Format::Mlpd, &out);
        println!("{:#?}", d);
        let mut encoder = mlpd::Encoder::new(version);
        let _ = (
            decode_pieces(Format::Mlpd, &out, 1),
            shown(&[]),
            Decoding::default(),
        );
        encoder.end(&mut out);
    }
}
