// SPDX-License-Identifier: MIT
/*
 * One buffer, two processes. The child writes into HBM and sends a file
 * descriptor for it through a socket; the parent, which has opened the device
 * by itself, imports the descriptor and reads.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <neuron/neuron.h>

#define MESSAGE "written by one process, read by another"

static int fail(const char *what)
{
	fprintf(stderr, "share: %s: %s\n", what, neuron_last_error());
	return 1;
}

/* A descriptor travels in the control part of a message of at least one byte. */
union control {
	char room[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static int send_fd(int sock, int fd)
{
	char byte = 'x';
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	union control control = { { 0 } };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -1;
}

static int receive_fd(int sock)
{
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	union control control = { { 0 } };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	struct cmsghdr *cmsg;
	int fd;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

static int writer(int sock, const char *name)
{
	struct neuron_device *device;
	struct neuron_buffer *buffer;
	int fd;

	if (neuron_device_open_name(name, &device) ||
	    neuron_buffer_create(device, NEURON_HBM, 1 << 20, NULL, &buffer) ||
	    neuron_buffer_write(buffer, 4096, MESSAGE, sizeof(MESSAGE)) ||
	    neuron_buffer_export(buffer, &fd))
		return fail("writer");
	if (send_fd(sock, fd)) {
		perror("share: send");
		return 1;
	}
	/* The memory lives on in the descriptor. */
	close(fd);
	neuron_buffer_destroy(buffer);
	neuron_device_close(device);
	return 0;
}

static int reader(int sock, const char *name)
{
	char text[sizeof(MESSAGE)] = "";
	struct neuron_device *device;
	struct neuron_buffer *buffer;
	int fd = receive_fd(sock);

	if (fd < 0) {
		fprintf(stderr, "share: no descriptor came\n");
		return 1;
	}
	if (neuron_device_open_name(name, &device) ||
	    neuron_buffer_import(device, fd, &buffer) ||
	    neuron_buffer_read(buffer, 4096, text, sizeof(text)))
		return fail("reader");
	puts(text);
	close(fd);
	neuron_buffer_destroy(buffer);
	neuron_device_close(device);
	return strcmp(text, MESSAGE) ? 1 : 0;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "0";
	int sock[2], status = 1, ret;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock)) {
		perror("share: socketpair");
		return 1;
	}
	child = fork();
	if (child == 0) {
		close(sock[0]);
		return writer(sock[1], name);
	}
	close(sock[1]);
	ret = reader(sock[0], name);
	waitpid(child, &status, 0);
	return ret || status ? 1 : 0;
}
