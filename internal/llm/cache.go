package llm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"agentmill/internal/atomicfile"
)

// A Cache is a folder of replies, each in a file named by the hash of what was
// asked. Several processes may use it at once.
type Cache struct {
	dir  string
	only bool

	mu   sync.Mutex
	busy map[string]chan struct{} // requests under way, so that equal ones are sent once
}

// OpenCache opens or begins a cache in the folder dir. With only, nothing but
// the cache answers, and the folder must be there.
func OpenCache(dir string, only bool) (*Cache, error) {
	if only {
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("open cache: %w", err)
		}
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	return &Cache{dir: dir, only: only, busy: map[string]chan struct{}{}}, nil
}

// Cached keeps the replies of c in k; m is told of those found there. variant
// names what c is asked with beyond its model and the request, such as an effort.
func Cached(c Client, k *Cache, m *Meter, variant string) Client { return &cached{c, k, m, variant} }

type cached struct {
	Client
	cache   *Cache
	meter   *Meter
	variant string
}

// asked is what a reply depends on. Its JSON is hashed: fields that are added
// must be left out where they are empty.
type asked struct {
	Schema  int     `json:"schema"`
	Model   string  `json:"model"`
	Variant string  `json:"variant,omitempty"`
	Request Request `json:"request"`
}

// kept is the content of a file.
type kept struct {
	Asked asked `json:"asked"`
	Reply Reply `json:"reply"`
}

// Complete implements Client.
func (c *cached) Complete(ctx context.Context, r Request) (Reply, error) {
	q := asked{1, c.Model(), c.variant, r}
	key, err := q.key()
	if err != nil {
		return Reply{}, err
	}
	free, err := c.cache.enter(ctx, key)
	if err != nil {
		return Reply{}, err
	}
	defer free()
	reply, ok, err := c.cache.load(key)
	if err != nil {
		return Reply{}, err
	}
	if ok {
		reply.USD, reply.FromCache = c.meter.found(reply.Usage), true
		charge(ctx, &reply)
		return reply, nil
	}
	if c.cache.only {
		return Reply{}, fmt.Errorf("%w: %s, request %s", ErrNotCached, c.cache.dir, key[:16])
	}
	if reply, err = c.Client.Complete(ctx, r); err != nil {
		return reply, err
	}
	return reply, c.cache.save(key, kept{q, reply})
}

func (q *asked) key() (string, error) {
	raw, err := json.Marshal(q)
	if err != nil {
		return "", fmt.Errorf("request to %s: %w", q.Model, err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// enter waits until no equal request is under way.
func (k *Cache) enter(ctx context.Context, key string) (leave func(), err error) {
	for {
		k.mu.Lock()
		other, ok := k.busy[key]
		if !ok {
			mine := make(chan struct{})
			k.busy[key] = mine
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				delete(k.busy, key)
				k.mu.Unlock()
				close(mine)
			}, nil
		}
		k.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, Ended(ctx)
		}
	}
}

func (k *Cache) path(key string) string { return filepath.Join(k.dir, key[:2], key+".json") }

// load finds a reply. A file that is damaged is as good as none.
func (k *Cache) load(key string) (Reply, bool, error) {
	raw, err := os.ReadFile(k.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return Reply{}, false, nil
	}
	if err != nil {
		return Reply{}, false, fmt.Errorf("read cache: %w", err)
	}
	var x kept
	ok := json.Unmarshal(raw, &x) == nil
	return x.Reply, ok, nil
}

func (k *Cache) save(key string, x kept) error {
	raw, err := json.Marshal(x)
	if err != nil {
		return fmt.Errorf("write cache: %w", err)
	}
	path := k.path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write cache: %w", err)
	}
	if err := atomicfile.WriteFile(path, append(raw, '\n')); err != nil {
		return fmt.Errorf("write cache: %w", err)
	}
	return nil
}
