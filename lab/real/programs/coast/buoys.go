// Buoys that report what they measure: requests over TLS at random times, each over a connection of its own. A buoy
// remembers its session and takes it up again where the server allows it. It sends nothing new before the last answer.
//
//	buoys -to 10.80.0.1:8443 -rate 200 -buoys 300 -timeout 3 -seed 1 -log FILE
//
// The log has lines of `epoch_s outcome latency_ms`: "ok" for status 200, "http_503", "timeout", or a kind of error.
package main

import (
	"bufio"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

type buoy struct {
	settings *tls.Config
	busy     sync.Mutex
}

func (b *buoy) report(to, path string, timeout time.Duration) (string, error) {
	end := time.Now().Add(timeout)
	conn, err := net.DialTimeout("tcp", to, timeout)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(end); err != nil {
		return "", err
	}
	line := tls.Client(conn, b.settings)
	if _, err := fmt.Fprintf(line, "GET %s HTTP/1.1\r\nHost: reports\r\nConnection: close\r\n\r\n", path); err != nil {
		return "", err
	}
	answer, err := http.ReadResponse(bufio.NewReader(line), nil)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return "", err
	}
	if answer.StatusCode == http.StatusOK {
		return "ok", nil
	}
	return fmt.Sprintf("http_%d", answer.StatusCode), nil
}

func describe(err error) string {
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return "timeout"
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "ECONNREFUSED"
	case errors.Is(err, syscall.ECONNRESET):
		return "ECONNRESET"
	}
	return "short"
}

func main() {
	to := flag.String("to", "", "address:port")
	rate := flag.Float64("rate", 100, "requests a second")
	count := flag.Int("buoys", 200, "how many buoys there are")
	paths := flag.String("paths", "/", "what they request, with commas in between; {n} is a number")
	timeout := flag.Float64("timeout", 3, "seconds")
	seed := flag.Int64("seed", 1, "of what is random")
	file := flag.String("log", "", "the log")
	flag.Parse()
	log, err := os.Create(*file)
	if err != nil {
		panic(err)
	}
	draw := rand.New(rand.NewSource(*seed))
	buoys := make([]*buoy, *count)
	for i := range buoys {
		buoys[i] = &buoy{settings: &tls.Config{
			InsecureSkipVerify: true, ServerName: "reports", ClientSessionCache: tls.NewLRUClientSessionCache(2),
		}}
	}
	choices := strings.Split(*paths, ",")
	var lock sync.Mutex
	due := time.Now()
	for {
		time.Sleep(time.Until(due))
		due = due.Add(time.Duration(draw.ExpFloat64() / *rate * float64(time.Second)))
		path := strings.ReplaceAll(choices[draw.Intn(len(choices))], "{n}", fmt.Sprint(draw.Intn(10_000)))
		b := buoys[draw.Intn(len(buoys))]
		if !b.busy.TryLock() {
			continue
		}
		go func() {
			defer b.busy.Unlock()
			began := time.Now()
			outcome, err := b.report(*to, path, time.Duration(*timeout*float64(time.Second)))
			if err != nil {
				outcome = describe(err)
			}
			lock.Lock()
			defer lock.Unlock()
			fmt.Fprintf(log, "%.3f %s %.2f\n", float64(began.UnixNano())/1e9, outcome,
				float64(time.Since(began).Microseconds())/1000)
		}()
	}
}
