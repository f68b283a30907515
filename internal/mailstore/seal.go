package mailstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// Where SQLite's header keeps two numbers that are the application's.
const (
	userVersionAt   = 60
	applicationIDAt = 68
	headerBytes     = 100
)

// applicationID marks a file as ours.
const applicationID = 0x414d696c // "AMil"

// errDamaged is told of a file whose content is not what was written. Without
// this check a damaged full-text table may just find nothing.
var errDamaged = errors.New("is damaged, or another program changed it: its checksum is wrong; run ingest again")

// seal writes the checksum of f into its header: the CRC-32C of the whole file
// with these four bytes 0.
func seal(f *os.File) error {
	var mark [4]byte
	binary.BigEndian.PutUint32(mark[:], applicationID)
	if _, err := f.WriteAt(mark[:], applicationIDAt); err != nil {
		return err
	}
	sum, _, err := checksum(f)
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint32(mark[:], sum)
	_, err = f.WriteAt(mark[:], userVersionAt)
	return err
}

// verify reports errDamaged unless the content of f is what seal saw.
func verify(f *os.File) error {
	sum, header, err := checksum(f)
	if err != nil {
		return err
	}
	if binary.BigEndian.Uint32(header[applicationIDAt:]) != applicationID {
		return errors.New("is not an inbox index of this version: run ingest again")
	}
	if binary.BigEndian.Uint32(header[userVersionAt:]) != sum {
		return errDamaged
	}
	return nil
}

// checksum reads all of f. The header is returned as it stands.
func checksum(f *os.File) (sum uint32, header []byte, err error) {
	header = make([]byte, headerBytes)
	if _, err := f.ReadAt(header, 0); err != nil {
		return 0, nil, fmt.Errorf("is not an inbox index: %w", err)
	}
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	blank := append([]byte(nil), header...)
	clear(blank[userVersionAt : userVersionAt+4])
	h.Write(blank)
	buf := make([]byte, 1<<20)
	rest := io.NewSectionReader(f, headerBytes, 1<<62)
	if _, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{rest}, buf); err != nil {
		return 0, nil, fmt.Errorf("read it: %w", err)
	}
	return h.Sum32(), header, nil
}
