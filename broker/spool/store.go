package spool

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/dlxtop/dlxtop/internal/prune"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// StoreDir is the directory of a Store, in the user's cache.
const StoreDir = "looks"

// The bounds of a store.
const (
	storedBytes = 256 << 20      // of one look
	storeBytes  = 1 << 30        // of all: the oldest are removed first
	storedAge   = 24 * time.Hour // then a look is removed
)

// storeMagic begins and ends each file; anything else is foreign, of another version, or cut.
const storeMagic = "dlxtop look 1\n"

// Store keeps what looks have read in files, one for each queue, so that every dlxtop of a user shares one look where
// each uses up a delivery limit. Losing it costs a look. "" is nowhere.
type Store struct{ Dir string }

// stored is all of a look but its messages, which are in the file as in a spool. Behind them is this as JSON, and where
// each message is.
type stored struct {
	Cluster string
	Peeked  peek.Peeked    // without messages
	records []storedRecord // each has a fixed size
}

type storedRecord struct {
	At, Body    int64
	Head        int32
	Fingerprint message.Fingerprint
}

// Save replaces an earlier peek at the queue. It does nothing when the peek is too large.
func (s Store) Save(cluster string, p *peek.Peeked) error {
	read, ok := p.Messages.(*Spool)
	if !ok || s.Dir == "" || read.written+int64(len(read.memory)) > storedBytes {
		return nil
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	prune.Dir(s.Dir, "", storeBytes-read.written-int64(len(read.memory)), storedAge)

	file, err := os.CreateTemp(s.Dir, "new-*") // 0600
	if err != nil {
		return err
	}
	err = errors.Join(read.store(file, cluster, p), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), s.path(cluster, p.Plan.Queue))
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}

	return err
}

// store writes the messages, then all else, then where that begins.
func (s *Spool) store(to io.Writer, cluster string, p *peek.Peeked) error {
	all := stored{Cluster: cluster, Peeked: *p, records: make([]storedRecord, len(s.records))}
	all.Peeked.Messages = nil
	for i, r := range s.records {
		all.records[i] = storedRecord{int64(len(storeMagic)) + r.at, r.body, r.head, r.fingerprint}
	}

	head, err := json.Marshal(all)
	if err != nil {
		return err
	}

	var end bytes.Buffer
	end.Write(binary.BigEndian.AppendUint32(nil, uint32(len(head))))
	end.Write(head)
	_ = binary.Write(&end, binary.BigEndian, all.records) // a buffer takes all
	sum := crc32.ChecksumIEEE(end.Bytes())
	end.Write(binary.BigEndian.AppendUint32(nil, sum))
	end.Write(binary.BigEndian.AppendUint64(nil, uint64(len(storeMagic))+uint64(s.written)+uint64(len(s.memory))))
	end.WriteString(storeMagic)

	if _, err := io.WriteString(to, storeMagic); err != nil {
		return err
	}
	if s.file != nil {
		if _, err := io.Copy(to, io.NewSectionReader(s.file, 0, s.written)); err != nil {
			return err
		}
	}

	if _, err := to.Write(s.memory); err != nil {
		return err
	}
	_, err = to.Write(end.Bytes())
	return err
}

// errStored means that a file is damaged, foreign, or of another version or queue.
var errStored = errors.New("not what this version keeps of that queue")

// Load returns messages that the caller closes.
func (s Store) Load(cluster string, queue model.QueueRef) (p peek.Peeked, ok bool) {
	if s.Dir == "" {
		return p, false
	}
	file, err := os.Open(s.path(cluster, queue))
	if err != nil {
		return p, false
	}
	look, end, err := readStored(file)
	if err != nil || look.Cluster != cluster || look.Peeked.Plan.Queue != queue ||
		time.Since(look.Peeked.TakenAt) > storedAge {
		_ = file.Close()
		return p, false
	}

	read := &Spool{file: file, written: end}
	for _, r := range look.records {
		read.records = append(read.records, kept{r.At, r.Body, r.Head, r.Fingerprint})
		read.bytes += r.Body
	}

	p = look.Peeked
	p.Messages = read
	return p, true
}

// readStored reads all but the messages, which end at this offset.
func readStored(file *os.File) (all stored, end int64, err error) {
	info, err := file.Stat()
	if err != nil {
		return all, 0, err
	}
	const trailer = 8 + int64(len(storeMagic))
	tail := make([]byte, trailer)
	if info.Size() < trailer+crc32.Size {
		return all, 0, errStored
	}
	if _, err := file.ReadAt(tail, info.Size()-trailer); err != nil {
		return all, 0, err
	}
	end = int64(binary.BigEndian.Uint64(tail))
	if string(tail[8:]) != storeMagic || end < 0 || end > info.Size()-trailer-crc32.Size {
		return all, 0, errStored
	}

	text := make([]byte, info.Size()-trailer-end)
	if _, err := file.ReadAt(text, end); err != nil {
		return all, 0, err
	}
	text, sum := text[:len(text)-crc32.Size], text[len(text)-crc32.Size:]
	if crc32.ChecksumIEEE(text) != binary.BigEndian.Uint32(sum) || len(text) < 4 {
		return all, 0, errStored
	}
	head := int64(binary.BigEndian.Uint32(text))
	if head > int64(len(text))-4 || json.Unmarshal(text[4:4+head], &all) != nil {
		return all, 0, errStored
	}
	records := text[4+head:]
	all.records = make([]storedRecord, len(records)/binary.Size(storedRecord{}))
	if _, err := binary.Decode(records, binary.BigEndian, all.records); err != nil && len(records) > 0 {
		return all, 0, errStored
	}
	for _, r := range all.records {
		if r.At < 0 || r.Body < 0 || r.Head <= 0 || r.At > end-int64(r.Head) || r.Body > end-int64(r.Head)-r.At {
			return all, 0, errStored
		}
	}

	return all, end, nil
}

// Drop removes what is kept of a queue: something was done to its messages.
func (s Store) Drop(cluster string, queue model.QueueRef) {
	if s.Dir != "" {
		_ = os.Remove(s.path(cluster, queue))
	}
}

// SavedAt returns zero when there is no peek of the queue.
func (s Store) SavedAt(cluster string, queue model.QueueRef) time.Time {
	if s.Dir == "" {
		return time.Time{}
	}
	info, err := os.Stat(s.path(cluster, queue))
	if err != nil {
		return time.Time{}
	}

	return info.ModTime()
}

func (s Store) path(cluster string, queue model.QueueRef) string {
	sum := sha256.Sum256([]byte(cluster + "\x00" + queue.VHost + "\x00" + queue.Name))
	return filepath.Join(s.Dir, hex.EncodeToString(sum[:16]))
}
