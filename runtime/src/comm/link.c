// SPDX-License-Identifier: MIT
/*
 * Ranks in several processes: rank 0 waits for the others at a place that all
 * know, and what one has to tell all passes through it.
 *
 * Messages go over UNIX sockets of type SOCK_SEQPACKET, so that each is whole,
 * and descriptors can come along. By TCP and by a file the ranks learn the name
 * of that socket, and a key. Whatever arrives is checked: length, version, what
 * it is about and from whom; a peer of another user is turned away. No call
 * waits beyond its deadline.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "internal.h"

#define MAGIC 0x4d4f434eu		/* "NCOM" */
#define VERSION 1u
#define MAX_BYTES 512u
#define RETRY_MS 10

/* Of the wire; same machine, so of its byte order */
enum { HELLO = 0x10000, WELCOME, ABORT, BYE };

struct header {
	uint32_t magic, version;
	uint32_t what, rank, count, size;
	uint64_t key;
};

struct message {
	struct header h;
	unsigned char bytes[MAX_BYTES];
};

struct nrn_link {
	uint32_t count, rank;
	/** @key: of all messages; and what a rank must know to come */
	uint64_t key, ticket;
	/** @peer: of rank 0: by rank; of others: [0]. -1 when it is closed */
	int *peer;
	/** @path: to unlink */
	char path[108];
	int broken;
	char sentence[256];
};

/* How a meeting place is written */
struct place {
	enum { PLACE_UNIX, PLACE_TCP, PLACE_FILE } kind;
	char name[108];
	struct sockaddr_in in;
};

static int parse(const char *root, struct place *place)
{
	const char *colon;
	char host[64];
	long port;
	char *end;

	memset(place, 0, sizeof(*place));
	if (!strncmp(root, "unix:", 5) || !strncmp(root, "file:", 5)) {
		place->kind = root[0] == 'u' ? PLACE_UNIX : PLACE_FILE;
		if (!root[5] || strlen(root + 5) >= sizeof(place->name) - 1)
			return nrn_fail(-EINVAL,
					"root '%s': the name is empty, or longer than %zu bytes",
					root, sizeof(place->name) - 2);
		snprintf(place->name, sizeof(place->name), "%s", root + 5);
		return 0;
	}
	colon = strrchr(root, ':');
	if (!strncmp(root, "tcp:", 4) && colon > root + 3 &&
	    (size_t)(colon - root - 4) < sizeof(host)) {
		snprintf(host, sizeof(host), "%.*s", (int)(colon - root - 4), root + 4);
		port = strtol(colon + 1, &end, 10);
		place->kind = PLACE_TCP;
		place->in.sin_family = AF_INET;
		place->in.sin_port = htons((uint16_t)port);
		if (inet_pton(AF_INET, host, &place->in.sin_addr) == 1 && !*end && port > 0 &&
		    port < 65536 && ntohl(place->in.sin_addr.s_addr) >> 24 == 127)
			return 0;
	}
	return nrn_fail(-EINVAL,
			"root '%s': it is unix:PATH, unix:@NAME, file:PATH or tcp:127.x.y.z:PORT",
			root);
}

static int left_ms(int64_t deadline)
{
	int64_t left = (deadline - nrn_backend->now()) / 1000000;

	return left <= 0 ? 0 : left > 1000 ? 1000 : (int)left + 1;
}

static int wait_for(int fd, short events, int64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = events };

	while (nrn_backend->now() < deadline)
		if (poll(&p, 1, left_ms(deadline)) > 0)
			return 0;
	return -ETIME;
}

static int system_failed(const char *what, const char *name)
{
	int error = errno ? -errno : -EIO;

	return nrn_fail(error, "%s %s: %s", what, name, strerror(-error));
}

static socklen_t unix_address(const char *name, struct sockaddr_un *un)
{
	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	snprintf(un->sun_path, sizeof(un->sun_path), "%s", name);
	if (name[0] != '@')
		return sizeof(*un);
	un->sun_path[0] = 0;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
}

static int listen_unix(struct nrn_link *link, const char *name)
{
	struct sockaddr_un un;
	socklen_t length = unix_address(name, &un);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return system_failed("socket", name);
	if (bind(fd, (struct sockaddr *)&un, length) || listen(fd, 128)) {
		system_failed("listening at", name);
		close(fd);
		return -errno;
	}
	if (name[0] != '@')
		snprintf(link->path, sizeof(link->path), "%s", name);
	return fd;
}

/* Until rank 0 is there */
static int connect_unix(const char *name, int64_t deadline)
{
	struct sockaddr_un un;
	socklen_t length = unix_address(name, &un);
	int fd;

	for (;;) {
		fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0)
			return system_failed("socket", name);
		if (!connect(fd, (struct sockaddr *)&un, length))
			return fd;
		close(fd);
		if (nrn_backend->now() >= deadline)
			return nrn_fail(-ETIME, "rank 0 is not at %s: %s", name, strerror(errno));
		poll(NULL, 0, RETRY_MS);
	}
}

static bool same_user(int fd)
{
	struct ucred cred;
	socklen_t length = sizeof(cred);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &length) &&
	       (cred.uid == geteuid() || !cred.uid);
}

static int send_message(int to, const struct message *m, int fd, int64_t deadline)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec iov = { (void *)m, sizeof(m->h) + m->h.size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (fd >= 0) {
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof(control.room);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	for (;;) {
		if (sendmsg(to, &msg, MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (wait_for(to, POLLOUT, deadline))
			return -ETIME;
	}
}

/* A descriptor that came along; all others are closed. */
static int take_fd(struct msghdr *msg)
{
	struct cmsghdr *c;
	int got = -1, fd;
	size_t i;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (got < 0)
				got = fd;
			else
				close(fd);
		}
	}
	return got;
}

/* Without waiting; -EAGAIN, -ECONNRESET when the other end is gone, -EPROTO */
static int get_message(int from, struct message *m, int *fd)
{
	union {
		char room[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec iov = { m, sizeof(*m) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	ssize_t size = recvmsg(from, &msg, MSG_CMSG_CLOEXEC);
	int came;

	*fd = -1;
	if (size < 0)
		return errno == EINTR || errno == EAGAIN ? -EAGAIN : -errno;
	if (!size)
		return -ECONNRESET;
	came = take_fd(&msg);
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || (size_t)size < sizeof(m->h) ||
	    m->h.magic != MAGIC || m->h.version != VERSION || m->h.size > MAX_BYTES ||
	    (size_t)size != sizeof(m->h) + m->h.size) {
		if (came >= 0)
			close(came);
		return -EPROTO;
	}
	*fd = came;
	return 0;
}

static int wait_message(int from, struct message *m, int *fd, int64_t deadline)
{
	int ret;

	for (;;) {
		ret = get_message(from, m, fd);
		if (ret != -EAGAIN)
			return ret;
		if (wait_for(from, POLLIN, deadline))
			return -ETIME;
	}
}

static void fill(const struct nrn_link *link, struct message *m, uint32_t what, uint32_t rank,
		 const void *bytes, uint32_t size)
{
	m->h = (struct header){ MAGIC, VERSION, what, rank, link->count, size, link->key };
	memcpy(m->bytes, bytes, size);
}

static int link_broken(struct nrn_link *link, uint32_t rank, int error)
{
	const char *why = error == -ECONNRESET || error == -EPIPE ? "is gone" :
			  error == -ETIME ? "has not come in time" :
			  error == -EPROTO ? "says what it should not" : strerror(-error);

	if (error == -ECONNRESET || error == -EPIPE)
		error = -ENOTCONN;
	link->broken = error;
	snprintf(link->sentence, sizeof(link->sentence), "rank %u %s", rank, why);
	return nrn_fail(error, "%s", link->sentence);
}

/* Was it told that all is over? Else it is no message for us. */
static int unexpected(struct nrn_link *link, uint32_t rank, struct message *m)
{
	if (m->h.what != ABORT || m->h.key != link->key)
		return link_broken(link, rank, m->h.what == BYE ? -ECONNRESET : -EPROTO);
	m->bytes[m->h.size < MAX_BYTES ? m->h.size : MAX_BYTES - 1] = 0;
	link->broken = -ENOTCONN;
	snprintf(link->sentence, sizeof(link->sentence), "%s", (char *)m->bytes);
	return nrn_fail(-ENOTCONN, "%s", link->sentence);
}

/* Rank 0: all others come; who is no rank of ours is turned away. */
static int accept_all(struct nrn_link *link, int listener, int64_t deadline)
{
	uint32_t missing = link->count - 1, i;
	struct message m;
	int fd, extra, ret;

	while (missing) {
		if (wait_for(listener, POLLIN, deadline)) {
			for (i = 1; link->peer[i] >= 0; i++)
				;
			return nrn_fail(-ETIME, "%u of %u ranks have not come, rank %u first",
					missing, link->count, i);
		}
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			continue;
		/* A second is enough for who has just connected. */
		ret = wait_message(fd, &m, &extra, nrn_deadline_after(1000000000));
		if (!ret && extra >= 0)
			close(extra);
		if (ret || m.h.what != HELLO || m.h.size || !same_user(fd)) {
			close(fd);
			continue;
		}
		if (m.h.count != link->count || m.h.key != link->ticket || !m.h.rank ||
		    m.h.rank >= link->count || link->peer[m.h.rank] >= 0) {
			nrn_fail(-EPROTO, "rank %u of %u has come to a communicator of %u ranks%s",
				 m.h.rank, m.h.count, link->count,
				 m.h.count == link->count ? ", twice or without the key" : "");
			fill(link, &m, ABORT, 0, neuron_last_error(),
			     (uint32_t)strlen(neuron_last_error()));
			send_message(fd, &m, -1, deadline);
			close(fd);
			return -EPROTO;
		}
		link->peer[m.h.rank] = fd;
		missing--;
	}
	for (i = 1; i < link->count; i++) {
		fill(link, &m, WELCOME, 0, "", 0);
		ret = send_message(link->peer[i], &m, -1, deadline);
		if (ret)
			return link_broken(link, i, ret);
	}
	return 0;
}

static int come(struct nrn_link *link, const char *name, int64_t deadline)
{
	struct message m;
	int ret, extra;

	ret = connect_unix(name, deadline);
	if (ret < 0)
		return ret;
	link->peer[0] = ret;
	if (!same_user(link->peer[0]))
		return nrn_fail(-EPROTO, "%s is of another user", name);
	link->key = link->ticket;
	fill(link, &m, HELLO, link->rank, "", 0);
	ret = send_message(link->peer[0], &m, -1, deadline);
	if (!ret)
		ret = wait_message(link->peer[0], &m, &extra, deadline);
	if (ret)
		return link_broken(link, 0, ret);
	if (extra >= 0)
		close(extra);
	link->key = m.h.key;
	return m.h.what == WELCOME && m.h.count == link->count ? 0 : unexpected(link, 0, &m);
}

/* What TCP and a file tell: the name of the socket and the key */
struct ticket {
	uint32_t magic, version;
	uint64_t key;
	char name[64];
};

static void make_ticket(struct nrn_link *link, struct ticket *t)
{
	memset(t, 0, sizeof(*t));
	t->key = link->key;
	t->magic = MAGIC;
	t->version = VERSION;
	snprintf(t->name, sizeof(t->name), "@neuron-comm-%" PRIx64, t->key);
	link->ticket = t->key;
}

static int check_ticket(struct nrn_link *link, const struct ticket *t, const char *where)
{
	if (t->magic != MAGIC || t->version != VERSION || t->name[0] != '@' ||
	    !memchr(t->name, 0, sizeof(t->name)))
		return nrn_fail(-EPROTO, "what is at %s is no rank 0 of this version", where);
	link->ticket = t->key;
	return 0;
}

static int write_ticket(const char *path, const struct ticket *t)
{
	char temporary[128];
	int fd, ret = 0;

	snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid());
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return system_failed("file", temporary);
	if (write(fd, t, sizeof(*t)) != sizeof(*t) || rename(temporary, path)) {
		ret = system_failed("file", path);
		unlink(temporary);
	}
	close(fd);
	return ret;
}

static int read_ticket(struct nrn_link *link, const char *path, struct ticket *t, int64_t deadline)
{
	struct stat st;
	int fd;

	while ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) < 0) {
		if (errno != ENOENT)
			return system_failed("file", path);
		if (nrn_backend->now() >= deadline)
			return nrn_fail(-ETIME, "rank 0 has not written %s", path);
		poll(NULL, 0, RETRY_MS);
	}
	memset(t, 0, sizeof(*t));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (st.st_uid != geteuid() && st.st_uid) ||
	    read(fd, t, sizeof(*t)) != sizeof(*t))
		t->magic = 0;
	close(fd);
	return check_ticket(link, t, path);
}

/* Rank 0 gives tickets while the others come: to whoever connects, at once. */
static int accept_by_tcp(struct nrn_link *link, int listener, const struct place *place,
			 const struct ticket *t, int64_t deadline)
{
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1, fd;
	uint32_t given = 0;
	int ret = 0;

	if (tcp < 0 || setsockopt(tcp, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(tcp, (const struct sockaddr *)&place->in, sizeof(place->in)) || listen(tcp, 128))
		ret = system_failed("listening by", "TCP");
	/* Whoever is no rank of ours takes a ticket from none. */
	while (!ret && given < link->count - 1) {
		ret = wait_for(tcp, POLLIN, deadline);
		if (ret) {
			nrn_fail(ret, "%u of %u ranks have not come by TCP",
				 link->count - 1 - given, link->count);
			break;
		}
		fd = accept4(tcp, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			continue;
		if (send(fd, t, sizeof(*t), MSG_NOSIGNAL) == sizeof(*t))
			given++;
		close(fd);
	}
	if (tcp >= 0)
		close(tcp);
	return ret ? ret : accept_all(link, listener, deadline);
}

static int ticket_by_tcp(struct nrn_link *link, const struct place *place, struct ticket *t,
			 int64_t deadline)
{
	size_t got = 0;
	ssize_t n;
	int fd;

	for (;;) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			return system_failed("socket", "TCP");
		if (!connect(fd, (const struct sockaddr *)&place->in, sizeof(place->in)))
			break;
		close(fd);
		if (nrn_backend->now() >= deadline)
			return nrn_fail(-ETIME, "rank 0 is not at its TCP port: %s",
					strerror(errno));
		poll(NULL, 0, RETRY_MS);
	}
	memset(t, 0, sizeof(*t));
	while (got < sizeof(*t) && !wait_for(fd, POLLIN, deadline)) {
		n = recv(fd, (char *)t + got, sizeof(*t) - got, 0);
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	close(fd);
	return check_ticket(link, t, "the TCP port");
}

static int open_root(struct nrn_link *link, const struct place *place, int64_t deadline)
{
	struct ticket t;
	int listener, ret = 0;

	if (getrandom(&link->key, sizeof(link->key), 0) != sizeof(link->key))
		return system_failed("random", "key");
	if (place->kind != PLACE_UNIX)
		make_ticket(link, &t);
	listener = listen_unix(link, place->kind == PLACE_UNIX ? place->name : t.name);
	if (listener < 0)
		return listener;
	if (place->kind == PLACE_FILE) {
		ret = write_ticket(place->name, &t);
		if (!ret)
			snprintf(link->path, sizeof(link->path), "%s", place->name);
	}
	if (!ret && place->kind == PLACE_TCP)
		ret = accept_by_tcp(link, listener, place, &t, deadline);
	else if (!ret)
		ret = accept_all(link, listener, deadline);
	close(listener);
	/* The name is of no more use, and free for the next communicator. */
	if (link->path[0])
		unlink(link->path);
	link->path[0] = 0;
	return ret;
}

static int open_other(struct nrn_link *link, const struct place *place, int64_t deadline)
{
	struct ticket t;
	int ret = 0;

	if (place->kind == PLACE_UNIX)
		return come(link, place->name, deadline);
	if (place->kind == PLACE_FILE)
		ret = read_ticket(link, place->name, &t, deadline);
	else
		ret = ticket_by_tcp(link, place, &t, deadline);
	return ret ? ret : come(link, t.name, deadline);
}

int nrn_link_open(const char *root, uint32_t count, uint32_t rank, int64_t deadline,
		  struct nrn_link **out)
{
	struct nrn_link *link;
	struct place place;
	uint32_t i;
	int ret;

	ret = parse(root, &place);
	if (ret)
		return ret;
	link = calloc(1, sizeof(*link));
	if (link)
		link->peer = malloc(count * sizeof(*link->peer));
	if (!link || !link->peer) {
		free(link);
		return nrn_fail(-ENOMEM, "out of memory for %u ranks", count);
	}
	link->count = count;
	link->rank = rank;
	for (i = 0; i < count; i++)
		link->peer[i] = -1;
	ret = rank ? open_other(link, &place, deadline) : open_root(link, &place, deadline);
	if (ret) {
		nrn_link_close(link);
		return ret;
	}
	*out = link;
	return 0;
}

/* Who goes when all is well says so: it is not missed before it is needed. */
void nrn_link_close(struct nrn_link *link)
{
	struct message m;
	uint32_t i;

	if (!link)
		return;
	fill(link, &m, BYE, link->rank, "", 0);
	for (i = 0; i < link->count; i++) {
		if (link->peer[i] < 0)
			continue;
		if (!link->broken)
			send_message(link->peer[i], &m, -1, 0);
		close(link->peer[i]);
	}
	free(link->peer);
	free(link);
}

/* A message about @what of @rank, of @size bytes */
static int expect(struct nrn_link *link, uint32_t from, uint32_t what, uint32_t rank,
		  uint32_t size, struct message *m, int *fd, int64_t deadline)
{
	int ret = wait_message(link->peer[from], m, fd, deadline);

	if (ret)
		return link_broken(link, from, ret);
	if (m->h.what == what && m->h.rank == rank && m->h.size == size &&
	    m->h.count == link->count && m->h.key == link->key)
		return 0;
	if (*fd >= 0)
		close(*fd);
	return unexpected(link, from, m);
}

/* Rank 0 hears all, then tells all of all. */
static int exchange_root(struct nrn_link *link, uint32_t what, uint32_t size, char *all, int *fds,
			 int64_t deadline)
{
	struct message m;
	uint32_t i, j;
	int ret;

	for (i = 1; i < link->count; i++) {
		ret = expect(link, i, what, i, size, &m, &fds[i], deadline);
		if (ret)
			return ret;
		memcpy(all + (size_t)i * size, m.bytes, size);
	}
	for (i = 1; i < link->count; i++) {
		for (j = 0; j < link->count; j++) {
			fill(link, &m, what, j, all + (size_t)j * size, size);
			ret = send_message(link->peer[i], &m, fds[j], deadline);
			if (ret)
				return link_broken(link, i, ret);
		}
	}
	return 0;
}

static int exchange_other(struct nrn_link *link, uint32_t what, uint32_t size, char *all, int *fds,
			  int64_t deadline)
{
	struct message m;
	uint32_t j;
	int ret;

	fill(link, &m, what, link->rank, all + (size_t)link->rank * size, size);
	ret = send_message(link->peer[0], &m, fds[link->rank], deadline);
	if (ret)
		return link_broken(link, 0, ret);
	if (fds[link->rank] >= 0)
		close(fds[link->rank]);
	fds[link->rank] = -1;
	for (j = 0; j < link->count; j++) {
		ret = expect(link, 0, what, j, size, &m, &fds[j], deadline);
		if (ret)
			return ret;
		memcpy(all + (size_t)j * size, m.bytes, size);
	}
	return 0;
}

int nrn_link_exchange(struct nrn_link *link, uint32_t what, const void *mine, uint32_t size,
		      int fd, void *all, int *out, int64_t deadline)
{
	int *fds = malloc(link->count * sizeof(*fds)), ret;
	uint32_t i;

	if (!fds)
		return nrn_fail(-ENOMEM, "out of memory for %u ranks", link->count);
	for (i = 0; i < link->count; i++)
		fds[i] = -1;
	fds[link->rank] = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	memcpy((char *)all + (size_t)link->rank * size, mine, size);
	if (link->broken)
		ret = nrn_fail(link->broken, "%s", link->sentence);
	else if (link->rank)
		ret = exchange_other(link, what, size, all, fds, deadline);
	else
		ret = exchange_root(link, what, size, all, fds, deadline);
	for (i = 0; i < link->count; i++) {
		if (!ret && out)
			out[i] = fds[i];
		else if (fds[i] >= 0)
			close(fds[i]);
	}
	free(fds);
	return ret;
}

void nrn_link_abort(struct nrn_link *link, const char *sentence)
{
	size_t size = strlen(sentence);
	struct message m;
	uint32_t i;

	fill(link, &m, ABORT, link->rank, sentence,
	     (uint32_t)(size < MAX_BYTES - 1 ? size : MAX_BYTES - 1));
	for (i = 0; i < link->count; i++) {
		if (link->peer[i] < 0)
			continue;
		/* Who does not read is not waited for; and all see the end. */
		send_message(link->peer[i], &m, -1, 0);
		close(link->peer[i]);
		link->peer[i] = -1;
	}
	if (!link->broken) {
		link->broken = -ENOTCONN;
		snprintf(link->sentence, sizeof(link->sentence), "%s", sentence);
	}
}

int nrn_link_check(struct nrn_link *link)
{
	struct message m;
	uint32_t i;
	int ret, fd;

	if (link->broken)
		return nrn_fail(link->broken, "%s", link->sentence);
	for (i = 0; i < link->count; i++) {
		if (link->peer[i] < 0)
			continue;
		/* What belongs to the next exchange stays where it is. */
		ret = (int)recv(link->peer[i], &m, sizeof(m), MSG_PEEK | MSG_DONTWAIT);
		if (ret < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (ret >= (int)sizeof(m.h) && m.h.what != ABORT && m.h.what != BYE)
			continue;
		ret = get_message(link->peer[i], &m, &fd);
		if (fd >= 0)
			close(fd);
		if (ret == -EAGAIN)
			continue;
		if (!ret && m.h.what == BYE && m.h.key == link->key) {
			close(link->peer[i]);
			link->peer[i] = -1;
			continue;
		}
		return ret ? link_broken(link, i, ret) : unexpected(link, i, &m);
	}
	return 0;
}

int nrn_link_fd(const struct nrn_link *link)
{
	return link->rank ? link->peer[0] : -1;
}

void nrn_link_name(const struct nrn_link *link, uint64_t number, char *text, uint64_t room)
{
	snprintf(text, room, "unix:@neuron-comm-%" PRIx64 "-%" PRIx64, link->key, number);
}
