/* Sends small UDP datagrams: datagrams ADDRESS FIRST_PORT PORTS BYTES PACKETS_PER_S SECONDS
 *
 * In batches, because one system call per packet would make the sender the bottleneck, and from eight sockets, so
 * that they look like eight senders. PACKETS_PER_S 0 is as fast as one CPU can. Ends after SECONDS. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 32, SOCKETS = 8, LARGEST = 1400 };

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	static char payload[LARGEST];
	struct sockaddr_in to[BATCH];
	struct mmsghdr messages[BATCH];
	struct iovec part = { payload, 0 };
	int sockets[SOCKETS];
	double sent = 0, start = now_s();

	if (argc != 7 || atoi(argv[3]) < 1 || atoi(argv[4]) > LARGEST)
		return 64;
	prctl(PR_SET_NAME, "metrics-agent");
	part.iov_len = atoi(argv[4]);
	memset(messages, 0, sizeof(messages));
	memset(to, 0, sizeof(to));
	for (int i = 0; i < BATCH; i++) {
		to[i].sin_family = AF_INET;
		to[i].sin_port = htons(atoi(argv[2]) + i % atoi(argv[3]));
		if (inet_pton(AF_INET, argv[1], &to[i].sin_addr) != 1)
			return 64;
		messages[i].msg_hdr.msg_name = &to[i];
		messages[i].msg_hdr.msg_namelen = sizeof(to[i]);
		messages[i].msg_hdr.msg_iov = &part;
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	for (int i = 0; i < SOCKETS; i++)
		sockets[i] = socket(AF_INET, SOCK_DGRAM, 0);

	for (int turn = 0;; turn = (turn + 1) % SOCKETS) {
		double elapsed_s = now_s() - start, rate = atof(argv[5]);

		if (elapsed_s > atof(argv[6]))
			return 0;
		if (rate > 0 && sent > rate * elapsed_s) {
			usleep(500);
			continue;
		}
		/* A closed port answers with an ICMP error, which the next call reports and forgets. */
		sendmmsg(sockets[turn], messages, BATCH, 0);
		sent += BATCH;
	}
}
