// An account service: profiles from its own memory, stock with a remote check, sessions and carts in Redis.
//
//	accounts -listen 10.80.0.1:8080 -access-log FILE -settings FILE -partner ADDRESS -redis ADDRESS
//
// Settings are lines of "name = value" and are read again when the file changes.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type purchase struct {
	Article string
	Amount  int
	Notes   []string
}

type profile struct {
	Name      string
	Tags      []string
	Purchases []*purchase
	Seen      *time.Time
}

type settings map[string]string

func (s settings) number(name string, otherwise int) int {
	if value, err := strconv.Atoi(s[name]); err == nil {
		return value
	}
	return otherwise
}

var (
	current  atomic.Value // settings
	profiles sync.Map
	entries  int
	partner  string
	redis    *pool
	keys     int
	stock    sync.Mutex
	levels   = map[int]int{}
	remote   = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}, Timeout: 20 * time.Second}
)

func newProfile(n int) *profile {
	now := time.Now()
	result := &profile{Name: "customer " + strconv.Itoa(n), Seen: &now}
	for i := 0; i < 4; i++ {
		result.Tags = append(result.Tags, "tag-"+strconv.Itoa(n%97+i))
		result.Purchases = append(result.Purchases,
			&purchase{Article: "article " + strconv.Itoa(n+i), Amount: i, Notes: []string{"gift " + strconv.Itoa(n)}})
	}
	return result
}

// hash does the work that an answer costs apart from everything else, such as signing it.
func hash(text string, rounds int) string {
	sum := sha256.Sum256([]byte(text))
	for i := 0; i < rounds; i++ {
		sum = sha256.Sum256(sum[:])
	}
	return fmt.Sprintf("%x", sum[:8])
}

// answerProfile returns a customer and those who bought the same, and stores the visit.
func answerProfile(n int, now settings) (string, error) {
	list := make([]*profile, 0, 64)
	for i := 0; i < now.number("related", 30); i++ {
		if found, ok := profiles.Load((n*31 + i*7919) % entries); ok {
			list = append(list, found.(*profile))
		}
	}
	profiles.Store(n%entries, newProfile(n%entries))
	text, err := json.Marshal(list)
	return string(text), err
}

func checkStock(n int) error {
	answer, err := remote.Get(fmt.Sprintf("http://%s/stock/%d", partner, n))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// answerStock reserves an article. With strict_reservations the level cannot change during the check.
func answerStock(n int, now settings) (string, error) {
	if now["strict_reservations"] == "yes" {
		stock.Lock()
		defer stock.Unlock()
		if err := checkStock(n); err != nil {
			return "", err
		}
		levels[n%5000]++
		return strconv.Itoa(levels[n%5000]), nil
	}
	if err := checkStock(n); err != nil {
		return "", err
	}
	stock.Lock()
	defer stock.Unlock()
	levels[n%5000]++
	return strconv.Itoa(levels[n%5000]), nil
}

func answerSession(n int, now settings) (string, error) {
	for i := 0; i < now.number("reads", 3); i++ {
		command := fmt.Sprintf("GETRANGE session:%d 0 %d", (n*101+i*7)%keys, now.number("header_bytes", 400))
		if _, err := redis.send([]string{command}); err != nil {
			return "", err
		}
	}
	return "session", nil
}

func answerCart(n int, now settings) (string, error) {
	value := strings.Repeat(strconv.Itoa(n%10), now.number("field_bytes", 60))
	commands := make([]string, now.number("writes", 20))
	for i := range commands {
		commands[i] = fmt.Sprintf("SETRANGE session:%d %d %s", rand.Intn(keys), rand.Intn(now.number("last_field", 1)), value)
	}
	_, err := redis.send(commands)
	return "cart", err
}

// pool keeps connections to Redis.
type pool struct {
	address string
	idle    chan *connection
}

type connection struct {
	net.Conn
	reader *bufio.Reader
}

func (p *pool) send(commands []string) (int, error) {
	var link *connection
	select {
	case link = <-p.idle:
	default:
		raw, err := net.DialTimeout("tcp", p.address, 5*time.Second)
		if err != nil {
			return 0, err
		}
		link = &connection{raw, bufio.NewReaderSize(raw, 16384)}
	}
	read, err := link.exchange(commands)
	if err != nil {
		link.Close()
		return 0, err
	}
	select {
	case p.idle <- link:
	default:
		link.Close()
	}
	return read, nil
}

func (c *connection) exchange(commands []string) (int, error) {
	total := 0
	if _, err := io.WriteString(c, strings.Join(commands, "\r\n")+"\r\n"); err != nil {
		return 0, err
	}
	for range commands {
		line, err := c.reader.ReadString('\n')
		if err != nil {
			return 0, err
		}
		if size, bad := strconv.Atoi(strings.TrimSpace(line[1:])); line[0] == '$' && bad == nil && size >= 0 {
			if _, err := c.reader.Discard(size + 2); err != nil {
				return 0, err
			}
			total += size
		}
	}
	return total, nil
}

func readSettings(path string) settings {
	result := settings{}
	text, _ := os.ReadFile(path)
	for _, line := range strings.Split(string(text), "\n") {
		if name, value, ok := strings.Cut(line, "="); ok {
			result[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return result
}

func watchSettings(path string) {
	last := time.Time{}
	for ; ; time.Sleep(300 * time.Millisecond) {
		if state, err := os.Stat(path); err == nil && state.ModTime() != last {
			last = state.ModTime()
			current.Store(readSettings(path))
		}
	}
}

func main() {
	listen := flag.String("listen", ":8080", "")
	accessLog := flag.String("access-log", "/dev/null", "")
	path := flag.String("settings", "", "")
	store := flag.String("redis", "", "")
	flag.StringVar(&partner, "partner", "", "")
	flag.IntVar(&entries, "entries", 1000, "profiles in memory")
	flag.IntVar(&keys, "keys", 1000, "sessions in Redis")
	flag.Parse()
	current.Store(readSettings(*path))
	redis = &pool{*store, make(chan *connection, 64)}
	for i := 0; i < entries; i++ {
		profiles.Store(i, newProfile(i))
	}
	go watchSettings(*path)
	file, err := os.OpenFile(*accessLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	handle := func(prefix string, answer func(int, settings) (string, error)) {
		http.HandleFunc(prefix, func(w http.ResponseWriter, r *http.Request) {
			began := time.Now()
			now := current.Load().(settings)
			n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, prefix))
			text, err := answer(n, now)
			status := 200
			if err != nil {
				status = 503
				log.Print(err)
			}
			w.Header().Set("X-Signature", hash(text, now.number("rounds", 1500)))
			w.WriteHeader(status)
			io.WriteString(w, text)
			fmt.Fprintf(file, "%.3f %s %s %d %.2f\n", float64(began.UnixMilli())/1000, r.Method, r.URL.Path, status,
				float64(time.Since(began).Microseconds())/1000)
		})
	}
	handle("/profile/", answerProfile)
	handle("/stock/", answerStock)
	handle("/sessions/", answerSession)
	handle("/carts/", answerCart)
	handle("/items/", func(n int, _ settings) (string, error) { return strconv.Itoa(n), nil })
	http.HandleFunc("/memory", func(w http.ResponseWriter, _ *http.Request) {
		var state runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&state)
		fmt.Fprintf(w, "%d %d\n", state.HeapAlloc, state.Sys-state.HeapSys)
	})
	log.Fatal(http.ListenAndServe(*listen, nil))
}
