package netconfig

import "testing"

// benchModel is the typical guest: one NIC, two families, resolvers.
func benchModel() Config {
	for _, m := range models() {
		if m.name == "dual" {
			return m.config
		}
	}
	return Config{}
}

func BenchmarkEncode(b *testing.B) {
	c := benchModel()
	for _, f := range Formats() {
		b.Run(string(f), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if data, _ := Encode(f, c); len(data) == 0 {
					b.Fatal("nothing encoded")
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	c := benchModel()
	for _, f := range []Format{V1, V2, OpenStack} {
		data, _ := Encode(f, c)
		b.Run(string(f), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, form, _ := Parse("f", data); form != f {
					b.Fatal(form)
				}
			}
		})
	}
}

func BenchmarkLint(b *testing.B) {
	data, _ := EncodeV2(benchModel())
	b.ReportAllocs()
	for b.Loop() {
		Lint("f", data, Release{})
	}
}
