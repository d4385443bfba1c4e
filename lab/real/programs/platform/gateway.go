// Gateway of an internal platform: passes requests on to services, and lets people watch builds (/watch/<n>).
//
//	gateway -listen 127.0.0.1:8080 -services ADDRESS -release N -rounds N -access-log FILE
//
// Several processes listen on the port, so that a release can start before the earlier one ends (SIGTERM).
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const reusePort = 0xf

// entrance takes connections until it is requested to finish.
type entrance struct {
	*net.TCPListener
	finishing atomic.Bool
	done      chan struct{}
}

func (e *entrance) Accept() (net.Conn, error) {
	conn, err := e.TCPListener.Accept()
	if err != nil && e.finishing.Load() {
		<-e.done
		return nil, http.ErrServerClosed
	}
	return conn, err
}

func listen(address string) (*entrance, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, reusePort, 1)
		})
		if err != nil {
			return err
		}
		return failed
	}}
	listener, err := config.Listen(context.Background(), "tcp4", address)
	if err != nil {
		return nil, err
	}
	return &entrance{TCPListener: listener.(*net.TCPListener), done: make(chan struct{})}, nil
}

func main() {
	address := flag.String("listen", ":8080", "")
	services := flag.String("services", "127.0.0.1:9000", "address:port of the services")
	release := flag.Int("release", 1, "")
	rounds := flag.Int("rounds", 500, "what an answer costs")
	accessLog := flag.String("access-log", "/dev/null", "")
	flag.Parse()
	file, err := os.OpenFile(*accessLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	entry, err := listen(*address)
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	var open sync.WaitGroup
	http.HandleFunc("/watch/", func(w http.ResponseWriter, r *http.Request) {
		open.Add(1)
		defer open.Done()
		for line := 1; ; line++ {
			if _, err := fmt.Fprintf(w, "step %d of %s\n", line, r.URL.Path); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(2 * time.Second):
			}
		}
	})
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		began, status, text := time.Now(), 200, []byte(nil)
		response, err := client.Get("http://" + *services + r.URL.Path)
		if err == nil {
			text, err = io.ReadAll(response.Body)
			response.Body.Close()
		}
		if err != nil {
			status = 502
		}
		sum := sha256.Sum256(text)
		for i := 0; i < *rounds; i++ {
			sum = sha256.Sum256(sum[:])
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, "%s %x\n", strings.Trim(r.URL.Path, "/"), sum[:8])
		fmt.Fprintf(file, "%.3f %s %s %d %.2f\n", float64(began.UnixMilli())/1000, r.Method, r.URL.Path, status,
			float64(time.Since(began).Microseconds())/1000)
	})
	go func() {
		if err := http.Serve(entry, nil); err != http.ErrServerClosed {
			log.Fatal(err)
		}
	}()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	<-signals
	entry.finishing.Store(true)
	entry.SetDeadline(time.Now())
	// From release 50 on, people who watch a build keep what they watch.
	if *release < 50 {
		entry.Close()
	}
	open.Wait()
	time.Sleep(300 * time.Millisecond)
	entry.Close()
	close(entry.done)
}
