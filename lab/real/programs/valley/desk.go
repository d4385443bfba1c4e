// The desk of a concert hall: /tickets/<n>?row=<r> has a ticket printed by the printers behind a beanstalkd and waits
// for it; /concerts/<n> and /seats/<n> are known here.
//
//	desk -listen 127.0.0.1:8080 -access-log FILE -queue ADDRESS -rounds N -wait 3
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// Order is what a printer gets.
type Order struct {
	Number  int64  `json:"number"`
	Concert string `json:"concert"`
	Row     string `json:"row"`
	Reply   string `json:"reply"`
}

var (
	errLate = errors.New("no ticket yet")
	number  atomic.Int64
	lines   atomic.Int64
)

// line is a connection to the queue, with a tube for answers of its own.
type line struct {
	conn  net.Conn
	in    *bufio.Reader
	reply string
}

func dial(queue string) (*line, error) {
	conn, err := net.DialTimeout("tcp", queue, time.Second)
	if err != nil {
		return nil, err
	}
	l := &line{conn, bufio.NewReader(conn), fmt.Sprintf("reply-%d-%d", os.Getpid(), lines.Add(1))}
	for _, command := range []string{"use tickets", "watch " + l.reply, "ignore default"} {
		if _, err := l.send(command); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *line) send(command string) (string, error) {
	if _, err := io.WriteString(l.conn, command+"\r\n"); err != nil {
		return "", err
	}
	text, err := l.in.ReadString('\n')
	return strings.TrimSpace(text), err
}

// printTicket puts an order into the queue and waits for its answer. Answers to orders of earlier requests are dropped.
func (l *line) printTicket(order Order, wait time.Duration) (string, error) {
	order.Reply = l.reply
	body, _ := json.Marshal(order)
	if _, err := l.send(fmt.Sprintf("put 100 0 30 %d\r\n%s", len(body), body)); err != nil {
		return "", err
	}
	for until := time.Now().Add(wait); time.Now().Before(until); {
		head, err := l.send("reserve-with-timeout 1")
		if err != nil {
			return "", err
		}
		var id, size int
		if count, _ := fmt.Sscanf(head, "RESERVED %d %d", &id, &size); count < 2 {
			continue
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(l.in, text); err != nil {
			return "", err
		}
		if _, err := l.send(fmt.Sprintf("delete %d", id)); err != nil {
			return "", err
		}
		if answer, ok := strings.CutPrefix(string(text[:size]), fmt.Sprintf("%d ", order.Number)); ok {
			return answer, nil
		}
	}
	return "", errLate
}

func main() {
	listen := flag.String("listen", ":8080", "")
	accessLog := flag.String("access-log", "/dev/null", "")
	flag.String("settings", "", "not in use")
	queue := flag.String("queue", "127.0.0.1:11300", "address:port of beanstalkd")
	rounds := flag.Int("rounds", 500, "what an answer costs")
	wait := flag.Duration("wait", 3*time.Second, "how long a visitor waits for a ticket")
	flag.Parse()
	idle := make(chan *line, 64)
	file, err := os.OpenFile(*accessLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	order := func(r *http.Request, concert string) (text string, err error) {
		var l *line
		select {
		case l = <-idle:
		default:
			if l, err = dial(*queue); err != nil {
				return "", err
			}
		}
		text, err = l.printTicket(Order{Number: number.Add(1), Concert: concert, Row: r.URL.Query().Get("row")}, *wait)
		if err != nil && !errors.Is(err, errLate) {
			l.conn.Close()
			return "", err
		}
		select {
		case idle <- l:
		default:
			l.conn.Close()
		}
		return text, err
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		began, status, text := time.Now(), 200, r.URL.Path
		if concert, ok := strings.CutPrefix(r.URL.Path, "/tickets/"); ok {
			var err error
			if text, err = order(r, concert); err != nil {
				log.Print(err)
				status = 504
			}
		}
		sum := sha256.Sum256([]byte(text))
		for i := 0; i < *rounds; i++ {
			sum = sha256.Sum256(sum[:])
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, "%s %x\n", text, sum[:8])
		fmt.Fprintf(file, "%.3f %s %s %d %.2f\n", float64(began.UnixMilli())/1000, r.Method, r.URL.Path, status,
			float64(time.Since(began).Microseconds())/1000)
	})
	log.Fatal(http.ListenAndServe(*listen, nil))
}
