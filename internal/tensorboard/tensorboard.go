// Package tensorboard writes the event files that TensorBoard reads: records of
// TFRecord framing, each an Event of TensorFlow's protocol buffers that holds
// scalars. It knows nothing of what they mean.
package tensorboard

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Scalar is one number with its name, as "train/loss".
type Scalar struct {
	Tag   string
	Value float64
}

// A Writer writes one event file.
type Writer struct{ w io.Writer }

// NewWriter begins a file: its first record names the format.
func NewWriter(w io.Writer, now time.Time) (*Writer, error) {
	t := &Writer{w}
	event := appendTime(nil, now)
	event = protowire.AppendTag(event, fieldVersion, protowire.BytesType)
	event = protowire.AppendString(event, "brain.Event:2")
	return t, t.record(event)
}

// Fields of Event, Summary and Summary.Value.
const (
	fieldTime    = 1
	fieldStep    = 2
	fieldVersion = 3
	fieldSummary = 5
	fieldValue   = 1
	fieldTag     = 1
	fieldSimple  = 2
)

// Write adds the scalars of one step.
func (t *Writer) Write(step int, now time.Time, scalars []Scalar) error {
	var summary []byte
	for _, s := range scalars {
		value := protowire.AppendTag(nil, fieldTag, protowire.BytesType)
		value = protowire.AppendString(value, s.Tag)
		value = protowire.AppendTag(value, fieldSimple, protowire.Fixed32Type)
		value = protowire.AppendFixed32(value, math.Float32bits(float32(s.Value)))
		summary = protowire.AppendTag(summary, fieldValue, protowire.BytesType)
		summary = protowire.AppendBytes(summary, value)
	}
	event := appendTime(nil, now)
	event = protowire.AppendTag(event, fieldStep, protowire.VarintType)
	event = protowire.AppendVarint(event, uint64(step))
	event = protowire.AppendTag(event, fieldSummary, protowire.BytesType)
	event = protowire.AppendBytes(event, summary)
	return t.record(event)
}

func appendTime(event []byte, now time.Time) []byte {
	event = protowire.AppendTag(event, fieldTime, protowire.Fixed64Type)
	return protowire.AppendFixed64(event, math.Float64bits(float64(now.UnixNano())/1e9))
}

// record frames one event: its length and its data, each with a checksum.
func (t *Writer) record(event []byte) error {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(event)))
	frame := binary.LittleEndian.AppendUint32(length, masked(length))
	frame = append(frame, event...)
	frame = binary.LittleEndian.AppendUint32(frame, masked(event))
	if _, err := t.w.Write(frame); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is TFRecord's checksum: one of data that holds checksums is bad at
// finding errors unless they are changed.
func masked(data []byte) uint32 {
	c := crc32.Checksum(data, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}
