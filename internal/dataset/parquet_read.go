package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// rowBatch is how many rows are fetched at once.
const rowBatch = 64

// parquet reads rows by the file's own schema, as JSON: columns are matched by
// name, may be missing or of a neighbouring type, and unknown ones are kept,
// all by the rules for JSON lines.
func (rd *reader) parquet(name string, r, buffered io.Reader, fn take) error {
	f, ok := r.(*os.File)
	if !ok || !seekable(f) {
		spool, err := spool(buffered)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		defer func() { _ = os.Remove(spool.Name()) }()
		defer func() { _ = spool.Close() }()
		f = spool
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	pf, err := openParquet(f, info.Size())
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if rd.columns != nil {
		if err := rd.columns(columnNames(pf.Root())); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	a := newAssembler(pf.Root())
	line := 0
	for _, group := range pf.RowGroups() {
		if err := a.rows(group, func(object []byte) error {
			line++
			return fn(Position{name, line}, object)
		}); err != nil {
			return at(name, line, err)
		}
	}
	return nil
}

// parquetMagic stands at both ends of a Parquet file.
const parquetMagic = "PAR1"

// openParquet reads what a Parquet file says of itself.
func openParquet(f io.ReaderAt, size int64) (pf *parquet.File, err error) {
	end := make([]byte, len(parquetMagic))
	if _, err := f.ReadAt(end, max(0, size-int64(len(end)))); err == nil && string(end) != parquetMagic {
		return nil, errors.New("it ends as no Parquet file does: it is cut off")
	}
	err = guard(func() (err error) {
		pf, err = parquet.OpenFile(f, size)
		return err
	})
	return pf, err
}

func columnNames(root *parquet.Column) (names []string) {
	for _, c := range root.Columns() {
		names = append(names, c.Name())
	}
	return names
}

// guard makes an error of a panic: the library trusts offsets in the file.
func guard(read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("the file is damaged")
		}
	}()
	return read()
}

// at adds the place to an error of the file; errors of records have theirs.
func at(name string, line int, err error) error {
	if broken, ok := errors.AsType[*brokenError](err); ok {
		return fmt.Errorf("%s:%d: %w", name, line+1, broken.err)
	}
	return err
}

type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }

func seekable(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// spool copies a pipe to a temporary file: the directory of a Parquet file
// stands at its end.
func spool(r io.Reader) (*os.File, error) {
	f, err := os.CreateTemp("", "agentmill-*.parquet")
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(f, r); err != nil {
		_ = f.Close()
		_ = os.Remove(f.Name())
		return nil, err
	}
	return f, nil
}

// A column is one node of a file's schema. Levels are the definition and
// repetition level at which it is present.
type column struct {
	name               string
	children           []*column
	optional, repeated bool
	list               bool // LIST: children[0] is repeated and holds the elements
	bare               bool // repeated child of a LIST whose only child is the element
	def, rep           int
	leaf, leaves       int // first leaf below, and how many
	write              func(b []byte, v parquet.Value) []byte
	json               bool
}

// An assembler turns the values of one row back into the nested record.
type assembler struct {
	root *column
	cols [][]parquet.Value
	pos  []int
	buf  []byte
}

func newAssembler(root *parquet.Column) *assembler {
	a := &assembler{root: &column{}}
	next := 0
	for _, c := range root.Columns() {
		a.root.children = append(a.root.children, newColumn(c, 0, 0, &next))
	}
	a.cols, a.pos = make([][]parquet.Value, next), make([]int, next)
	return a
}

func newColumn(c *parquet.Column, def, rep int, next *int) *column {
	n := &column{name: c.Name(), optional: c.Optional(), repeated: c.Repeated(), leaf: *next}
	if n.optional || n.repeated {
		def++
	}
	if n.repeated {
		rep++
	}
	n.def, n.rep = def, rep
	if c.Leaf() {
		*next++
		n.write = writerOf(c.Type())
		n.json = isJSON(c.Type())
	}
	for _, child := range c.Columns() {
		n.children = append(n.children, newColumn(child, def, rep, next))
	}
	n.leaves = *next - n.leaf
	if len(n.children) == 1 && n.children[0].repeated && (c.Type().String() == "LIST" || n.children[0].name == "list") {
		n.list = true
		n.children[0].bare = len(n.children[0].children) == 1
	}
	return n
}

func (a *assembler) rows(group parquet.RowGroup, fn func(object []byte) error) error {
	rows := group.Rows()
	defer func() { _ = rows.Close() }()
	batch := make([]parquet.Row, rowBatch)
	for {
		n := 0
		err := guard(func() (err error) {
			n, err = rows.ReadRows(batch)
			return err
		})
		for _, row := range batch[:n] {
			if err := fn(a.object(row)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &brokenError{err}
		}
	}
}

// object is one row as a JSON object, valid until the next call.
func (a *assembler) object(row parquet.Row) []byte {
	for i := range a.cols {
		a.cols[i], a.pos[i] = a.cols[i][:0], 0
	}
	for _, v := range row {
		a.cols[v.Column()] = append(a.cols[v.Column()], v)
	}
	a.buf = a.buf[:0]
	a.group(a.root)
	return a.buf
}

// absent says whether the next value below n shows that n is missing here, and
// steps over it if so.
func (a *assembler) absent(n *column) bool {
	if v, ok := a.peek(n.leaf); ok && v.DefinitionLevel() >= n.def {
		return false
	}
	for i := n.leaf; i < n.leaf+n.leaves; i++ {
		a.pos[i]++
	}
	return true
}

func (a *assembler) peek(leaf int) (parquet.Value, bool) {
	if a.pos[leaf] >= len(a.cols[leaf]) {
		return parquet.Value{}, false
	}
	return a.cols[leaf][a.pos[leaf]], true
}

// value writes what stands at n; false when it is null and nothing was written.
func (a *assembler) value(n *column) bool {
	switch {
	case n.leaves == 0:
		return false
	case n.repeated:
		a.elements(n)
		return true
	case n.optional && a.absent(n):
		return false
	}
	return a.present(n)
}

// present writes a node that is there.
func (a *assembler) present(n *column) bool {
	switch {
	case n.list:
		a.elements(n.children[0])
	case n.write != nil:
		v, _ := a.peek(n.leaf)
		a.pos[n.leaf]++
		before := len(a.buf)
		a.buf = n.write(a.buf, v)
		return len(a.buf) > before
	default:
		a.group(n)
	}
	return true
}

// elements writes the repeated node n as an array.
func (a *assembler) elements(n *column) {
	a.buf = append(a.buf, '[')
	defer func() { a.buf = append(a.buf, ']') }()
	if a.absent(n) {
		return
	}
	for i := 0; ; i++ {
		if v, ok := a.peek(n.leaf); !ok || (i > 0 && v.RepetitionLevel() != n.rep) {
			return
		}
		if i > 0 {
			a.buf = append(a.buf, ',')
		}
		var ok bool
		if n.bare {
			ok = a.value(n.children[0])
		} else {
			ok = a.present(n)
		}
		if !ok {
			a.buf = append(a.buf, "null"...)
		}
	}
}

// group writes an object; null members are left out, and the members of the
// JSON column extra stand beside the others.
func (a *assembler) group(n *column) {
	a.buf = append(a.buf, '{')
	first := true
	for _, c := range n.children {
		before := len(a.buf)
		if !first {
			a.buf = append(a.buf, ',')
		}
		splice := c.json && c.name == "extra"
		if !splice {
			a.buf = append(appendString(a.buf, c.name), ':')
		}
		from := len(a.buf)
		if !a.value(c) || (splice && !a.unwrap(from)) {
			a.buf = a.buf[:before]
			continue
		}
		first = false
	}
	a.buf = append(a.buf, '}')
}

// unwrap strips the brackets of the object that begins at from; false where
// nothing is left.
func (a *assembler) unwrap(from int) bool {
	object := bytes.TrimSpace(a.buf[from:])
	if len(object) < 2 || object[0] != '{' {
		return false
	}
	inner := bytes.TrimSpace(object[1 : len(object)-1])
	a.buf = append(a.buf[:from], inner...)
	return len(inner) > 0
}

func isJSON(t parquet.Type) bool {
	lt := t.LogicalType()
	if lt == nil {
		return false
	}
	_, ok := lt.Value.(*format.JsonType)
	return ok
}

// writerOf chooses how the values of a leaf are written as JSON.
func writerOf(t parquet.Type) func(b []byte, v parquet.Value) []byte {
	if lt := t.LogicalType(); lt != nil {
		switch lt := lt.Value.(type) {
		case *format.JsonType:
			return writeJSON
		case *format.TimestampType:
			return writeTime(unit(lt))
		case *format.DateType:
			return func(b []byte, v parquet.Value) []byte {
				return time.Unix(int64(v.Int32())*86400, 0).UTC().AppendFormat(b, `"2006-01-02"`)
			}
		case *format.IntType:
			if !lt.IsSigned {
				return writeUnsigned
			}
		}
	}
	switch t.Kind() {
	case parquet.Boolean:
		return func(b []byte, v parquet.Value) []byte { return strconv.AppendBool(b, v.Boolean()) }
	case parquet.Int32:
		return func(b []byte, v parquet.Value) []byte { return strconv.AppendInt(b, int64(v.Int32()), 10) }
	case parquet.Int64:
		return func(b []byte, v parquet.Value) []byte { return strconv.AppendInt(b, v.Int64(), 10) }
	case parquet.Float:
		return func(b []byte, v parquet.Value) []byte { return appendFloat(b, float64(v.Float()), 32) }
	case parquet.Double:
		return func(b []byte, v parquet.Value) []byte { return appendFloat(b, v.Double(), 64) }
	}
	return func(b []byte, v parquet.Value) []byte { return appendString(b, string(v.Bytes())) }
}

func writeUnsigned(b []byte, v parquet.Value) []byte {
	if v.Kind() == parquet.Int32 {
		return strconv.AppendUint(b, uint64(v.Uint32()), 10)
	}
	return strconv.AppendUint(b, v.Uint64(), 10)
}

// writeJSON passes JSON through, and what only claims to be JSON as a string.
func writeJSON(b []byte, v parquet.Value) []byte {
	data := bytes.TrimSpace(v.ByteArray())
	switch {
	case len(data) == 0:
		return b
	case json.Valid(data):
		return append(b, data...)
	}
	return appendString(b, string(data))
}

func unit(t *format.TimestampType) time.Duration {
	switch t.Unit.Value.(type) {
	case *format.NanoSeconds:
		return time.Nanosecond
	case *format.MicroSeconds:
		return time.Microsecond
	}
	return time.Millisecond
}

func writeTime(unit time.Duration) func(b []byte, v parquet.Value) []byte {
	perSecond := int64(time.Second / unit)
	return func(b []byte, v parquet.Value) []byte {
		n := v.Int64()
		t := time.Unix(n/perSecond, n%perSecond*int64(unit)).UTC()
		return t.AppendFormat(b, `"`+time.RFC3339Nano+`"`)
	}
}

// appendFloat writes the shortest digits that read back equal. JSON has no
// infinities and no NaN: they are null.
func appendFloat(b []byte, x float64, bits int) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, x, 'g', -1, bits)
}

const hex = "0123456789abcdef"

func appendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
