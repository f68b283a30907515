package dataset

import "testing"

func TestExtensions(t *testing.T) {
	for path, ok := range map[string]bool{
		"a": true, "a.jsonl": true, "a.parquet": true, "a.jsonl.gz": true, "a.jsonl.zst": true, "runs.d/a.gz": true,
		"a.json": false, "a.csv": false, "a.csv.gz": false, "a.parquet.gz": false, "a.parquet.zst": false, "a.jsonl.bz2": false,
	} {
		if err := checkExtension(path); (err == nil) != ok {
			t.Errorf("checkExtension(%q) = %v, want it taken: %v", path, err, ok)
		}
	}
}
