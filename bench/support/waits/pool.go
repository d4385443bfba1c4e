// Goroutines that wait for a mutex, a channel and a timer, with little work.
package main

import (
	"sync"
	"time"
)

func main() {
	var mutex sync.Mutex
	jobs := make(chan int)
	for i := 0; i < 8; i++ {
		go func() {
			for range jobs {
				end := time.Now().Add(time.Millisecond)
				for time.Now().Before(end) {
				}
			}
		}()
		go func() {
			for {
				mutex.Lock()
				time.Sleep(5 * time.Millisecond)
				mutex.Unlock()
			}
		}()
	}
	for i := 0; ; i++ {
		time.Sleep(10 * time.Millisecond)
		jobs <- i
	}
}
