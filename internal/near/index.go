package near

// Near texts have at least one of so many smallest hashes in common, but for a
// chance of one in thousands.
const bucketHashes = 6

// maxBucket bounds the texts looked at for one hash: a beginning that thousands
// of texts share tells nothing.
const maxBucket = 64

// An Index holds prints and finds those near a new one. The zero Index is empty.
type Index struct {
	buckets map[bucket][]int32
	prints  []Print
	ids     []int
}

type bucket struct {
	frame uint64
	hash  uint32
}

// Find returns the id of the print most like p, the first added among equals;
// ok is false if none is near.
func (x *Index) Find(p Print) (id int, ok bool) {
	best, at := Threshold, int32(-1)
	seen := map[int32]bool{}
	for _, hash := range p.Sketch[:min(len(p.Sketch), bucketHashes)] {
		for _, i := range x.buckets[bucket{p.Frame, hash}] {
			if seen[i] {
				continue
			}
			seen[i] = true
			if like := p.Sketch.Likeness(x.prints[i].Sketch); like > best || like == best && (at < 0 || i < at) {
				best, at = like, i
			}
		}
	}
	if at < 0 {
		return 0, false
	}
	return x.ids[at], true
}

// Add puts a print in. Those that are near another need not be added: what is
// near them is mostly near that one.
func (x *Index) Add(id int, p Print) {
	if len(p.Sketch) == 0 {
		return
	}
	if x.buckets == nil {
		x.buckets = map[bucket][]int32{}
	}
	i := int32(len(x.prints))
	x.prints, x.ids = append(x.prints, p), append(x.ids, id)
	for _, hash := range p.Sketch[:min(len(p.Sketch), bucketHashes)] {
		b := bucket{p.Frame, hash}
		if len(x.buckets[b]) < maxBucket {
			x.buckets[b] = append(x.buckets[b], i)
		}
	}
}
