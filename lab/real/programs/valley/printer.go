// A printer of tickets: takes orders from a beanstalkd, paints a ticket for each, and puts it into the tube of the reply.
//
//	printer -queue ADDRESS -rows N -seats N -strokes N -most N
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

type order struct {
	Number  int64  `json:"number"`
	Concert string `json:"concert"`
	Row     string `json:"row"`
	Reply   string `json:"reply"`
}

type printer struct {
	conn    net.Conn
	in      *bufio.Reader
	plan    [][]string
	strokes int
}

func (p *printer) send(command string) string {
	if _, err := io.WriteString(p.conn, command+"\r\n"); err != nil {
		log.Fatal(err)
	}
	text, err := p.in.ReadString('\n')
	if err != nil {
		log.Fatal(err)
	}
	return strings.TrimSpace(text)
}

// paint draws what is on a ticket; the number of a row is that on its sign, which begins at 1.
func (p *printer) paint(o order) string {
	sum := sha256.Sum256([]byte(o.Concert))
	for i := 0; i < p.strokes; i++ {
		sum = sha256.Sum256(sum[:])
	}
	row, _ := strconv.Atoi(o.Row)
	seats := p.plan[row-1]
	return fmt.Sprintf("row %d seat %s %x", row, seats[int(o.Number)%len(seats)], sum[:12])
}

// measurePlan computes the view from each seat, which takes a moment.
func measurePlan(rows, seats, strokes int) [][]string {
	plan := make([][]string, rows)
	for i := range plan {
		for j := 0; j < seats; j++ {
			sum := sha256.Sum256([]byte(fmt.Sprint(i, j)))
			for k := 0; k < strokes/seats; k++ {
				sum = sha256.Sum256(sum[:])
			}
			plan[i] = append(plan[i], fmt.Sprintf("%d-%x", j+1, sum[:2]))
		}
	}
	return plan
}

func main() {
	queue := flag.String("queue", "127.0.0.1:11300", "address:port of beanstalkd")
	rows := flag.Int("rows", 20, "rows of the hall")
	seats := flag.Int("seats", 30, "seats of a row")
	strokes := flag.Int("strokes", 60000, "what a ticket costs")
	most := flag.Int("most", 0, "end after so many tickets; 0 for never")
	flag.Parse()
	plan := measurePlan(*rows, *seats, *strokes)
	conn, err := net.DialTimeout("tcp", *queue, 2*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	p := &printer{conn, bufio.NewReader(conn), plan, *strokes}
	p.send("watch tickets")
	p.send("ignore default")
	for done := 0; *most == 0 || done < *most; done++ {
		var id, size int
		if count, _ := fmt.Sscanf(p.send("reserve"), "RESERVED %d %d", &id, &size); count < 2 {
			continue
		}
		body := make([]byte, size+2)
		if _, err := io.ReadFull(p.in, body); err != nil {
			log.Fatal(err)
		}
		var o order
		if err := json.Unmarshal(body[:size], &o); err != nil {
			log.Print(err)
		} else {
			ticket := fmt.Sprintf("%d %s", o.Number, p.paint(o))
			p.send("use " + o.Reply)
			p.send(fmt.Sprintf("put 100 0 30 %d\r\n%s", len(ticket), ticket))
		}
		p.send(fmt.Sprintf("delete %d", id))
	}
	os.Exit(0)
}
