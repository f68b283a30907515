package nn

import "agentmill/internal/device"

// A Dropout sets values to 0 with probability Rate and divides the others by
// 1 − Rate. Which ones is a function of Seed, so that the way back drops the same
// without remembering them. Adapters of a model share one.
type Dropout struct {
	Rate float64
	Seed uint64
	// Active is set while a pass is trained on; scoring and playing drop nothing.
	Active bool
}

func (d *Dropout) on() bool { return d != nil && d.Active && d.Rate > 0 }

// apply drops values of the dense matrix m.
func (d *Dropout) apply(b device.Backend, m device.Mat, index uint64) {
	n := m.Rows * m.Cols
	var values []float32
	host, direct := m.Buf.(device.HostBuffer)
	if direct {
		values = host.Host()[:n]
	} else {
		values = make([]float32, n)
		b.Download(values, m.Buf.Slice(0, n))
	}
	kept := float32(1 / (1 - d.Rate))
	limit := uint64(d.Rate * (1 << 53))
	base := mix(d.Seed ^ mix(index+1))
	for i := range values {
		if mix(base+uint64(i))>>11 < limit {
			values[i] = 0
		} else {
			values[i] *= kept
		}
	}
	if !direct {
		b.Upload(m.Buf.Slice(0, n), values)
	}
}

// mix is the finaliser of SplitMix64: every bit of the result depends on every
// bit of x.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
