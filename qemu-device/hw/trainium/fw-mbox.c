/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Firmware messages, in both formats.
 *
 * Host memory: 0x1f0..0x1fc hold the AXI addresses of a request and a response
 * buffer. Header of a request: sequence, command, size, CRC-32C; of a response:
 * sequence, error, size. The sequence byte of the response is written last.
 *
 * In MISC RAM (API version 7): the header is in 0x1f0/0x1f4, the payload in
 * 0x100..0x17f, and 0x0f0 is 1. The answer takes the same place, its header
 * with a CRC too; then the doorbell reads 0. Public drivers mix both formats,
 * so 0x0f0 decides at every doorbell and is cleared with the answer.
 *
 * What the public sources leave open, and the model's choice:
 *  - a wrong CRC or size is answered with error 1 and the request's sequence;
 *  - a message is new when the sequence of the response buffer differs from
 *    the request's (the host writes 0 there first); sequence 0 is none;
 *  - the host addresses are cleared when the message was answered: hosts write
 *    them for every message, and later ones may find the buffers freed;
 *  - buffers are in host memory or HBM; addresses of registers are refused;
 *  - a register that leads nowhere fails the whole read command;
 *  - power profiles 0..3 exist, there is no 7200 MT/s HBM, and Trainium2 has
 *    no windows to switches (a list with just its end mark).
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "qemu/crc32c.h"
#include "qemu/log.h"
#include "fw.h"
#include "trace.h"

#define TRN_FW_NUM_PROFILES 4
#define TRN_FW_ALL_PROFILES 0
#define TRN_FW_BAR_INTER_SERVER 1
#define TRN_FW_BAR_INTRA_SERVER 2
#define TRN_FW_MAX_ANSWER (TRN_MSG_MAX_READ_REGS * 4)

typedef struct TrnAnswer {
    uint8_t data[TRN_FW_MAX_ANSWER];
    size_t len, max;
} TrnAnswer;

static uint32_t *trn_fw_word(TrnFw *fw, uint32_t offset)
{
    return &fw->ram[offset / 4];
}

/* --- Commands ------------------------------------------------------------- */

static bool trn_fw_read_reg(TrnDevice *d, uint64_t addr, uint32_t *value)
{
    TrnTarget t;

    if ((addr & 3) || !trn_axi_resolve(d, addr, &t) || t.len < 4) {
        return false;
    }
    switch (t.kind) {
    case TRN_TARGET_REG:
        *value = t.block->read ? t.block->read(d, t.index, t.addr) : 0;
        return true;
    case TRN_TARGET_RAM:
        *value = ldl_le_p(t.ptr);
        return true;
    default:
        return false;
    }
}

static int trn_fw_cmd_read_regs(TrnDevice *d, const uint8_t *in, size_t len,
                                TrnAnswer *a)
{
    size_t n = len / 8;

    if (!n || len % 8 || n > TRN_MSG_MAX_READ_REGS || n * 4 > a->max) {
        return TRN_MSG_FAILED;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t value;

        if (!trn_fw_read_reg(d, ldq_le_p(in + i * 8), &value)) {
            return TRN_MSG_FAILED;
        }
        stl_le_p(a->data + i * 4, value);
    }
    a->len = n * 4;
    return TRN_MSG_OK;
}

static int trn_fw_cmd_set_profile(TrnDevice *d, const uint8_t *in, size_t len)
{
    if (len != 8 || in[4] >= TRN_FW_NUM_PROFILES) {
        return TRN_MSG_FAILED;
    }
    memcpy(d->fw->profile, in + 4, sizeof(d->fw->profile));
    return TRN_MSG_OK;
}

static int trn_fw_cmd_get_data(TrnDevice *d, const uint8_t *in, size_t len,
                               TrnAnswer *a)
{
    if (len < 1) {
        return TRN_MSG_FAILED;
    }
    memset(a->data, 0, 64);
    switch (in[0]) {
    case TRN_MSG_DATA_PROFILE:
        /* a reserved word, then as in the set command */
        memcpy(a->data + 4, d->fw->profile, sizeof(d->fw->profile));
        a->len = 8;
        return TRN_MSG_OK;
    case TRN_MSG_DATA_PROFILES:
        /* 16-bit feature asked for; a count, then a bitmap of 256 profiles */
        if (len >= 3 && lduw_le_p(in + 1) == TRN_FW_ALL_PROFILES) {
            a->data[0] = TRN_FW_NUM_PROFILES;
            a->data[1] = (1 << TRN_FW_NUM_PROFILES) - 1;
        }
        a->len = 33;
        return TRN_MSG_OK;
    case TRN_MSG_DATA_BAR_INFO:
        if (len < 2 || (in[1] != TRN_FW_BAR_INTER_SERVER &&
                        in[1] != TRN_FW_BAR_INTRA_SERVER)) {
            return TRN_MSG_FAILED;
        }
        a->len = 8;
        return TRN_MSG_OK;
    default:
        return TRN_MSG_FAILED;
    }
}

static int trn_fw_cmd_set_feature(TrnDevice *d, const uint8_t *in, size_t len)
{
    uint8_t word[4] = { 0 };
    uint32_t features;

    if (len < 1 || len > 4) {
        return TRN_MSG_FAILED;
    }
    memcpy(word, in, len);
    features = ldl_le_p(word);
    if (features & ~TRN_MSG_FEATURE_THROTTLE) {
        return TRN_MSG_FAILED;
    }
    d->fw->features = features;
    return TRN_MSG_OK;
}

static int trn_fw_command(TrnDevice *d, unsigned cmd, const uint8_t *in,
                          size_t len, TrnAnswer *a)
{
    bool newer = trn_fw_prop(d, TRN_FWP_API_VERSION) >= TRN_FW_API_MAILBOX;

    switch (cmd) {
    case TRN_MSG_CMD_READ_REGS:
        return trn_fw_cmd_read_regs(d, in, len, a);
    case TRN_MSG_CMD_POST_METRIC:
        if (len > TRN_MISC_MBOX_DATA_SIZE) {
            return TRN_MSG_FAILED;
        }
        d->fw->metrics++;
        return TRN_MSG_OK;
    case TRN_MSG_CMD_SET_POWER_PROFILE:
        return newer ? trn_fw_cmd_set_profile(d, in, len) : TRN_MSG_UNKNOWN;
    case TRN_MSG_CMD_GET_DATA:
        return newer ? trn_fw_cmd_get_data(d, in, len, a) : TRN_MSG_UNKNOWN;
    case TRN_MSG_CMD_SET_FEATURE:
        return newer ? trn_fw_cmd_set_feature(d, in, len) : TRN_MSG_UNKNOWN;
    default:
        return TRN_MSG_UNKNOWN;
    }
}

/* --- Frames ---------------------------------------------------------------- */

static uint32_t trn_fw_crc(TrnDevice *d, const uint8_t *buf, size_t len)
{
    uint32_t crc = crc32c(0xffffffff, buf, len);

    return trn_fw_prop(d, TRN_FWP_CRC_CORRUPT) ? ~crc : crc;
}

/*
 * A whole request with header; its CRC field is set to 0 here. Returns the
 * error code. The count of messages and the faults are here, so that they are
 * the same for both formats.
 */
static int trn_fw_request(TrnDevice *d, uint8_t *req, size_t size, TrnAnswer *a)
{
    TrnFw *fw = d->fw;
    uint32_t crc = ldl_le_p(req + 4);
    uint64_t left = trn_fw_prop(d, TRN_FWP_DEAD_AFTER);
    int error;

    stl_le_p(req + 4, 0);
    a->len = 0;
    if (trn_fw_prop(d, TRN_FWP_ERROR)) {
        error = trn_fw_prop(d, TRN_FWP_ERROR);
    } else if (trn_fw_crc(d, req, size) != crc) {
        fw->crc_errors++;
        error = TRN_MSG_FAILED;
    } else {
        error = trn_fw_command(d, req[1], req + TRN_MSG_REQUEST_HDR_SIZE,
                               size - TRN_MSG_REQUEST_HDR_SIZE, a);
    }
    if (error) {
        fw->failed_messages++;
        a->len = 0;
    }
    fw->messages++;
    if (left) {
        d->fw_props.v[TRN_FWP_DEAD_AFTER] = left - 1;
        if (left == 1) {
            d->fw_props.v[TRN_FWP_DEAD] = true;
        }
    }
    trace_trn_fw_message(d->routing_id, req[0], req[1], size, error);
    return error;
}

static void trn_fw_ram_message(TrnDevice *d)
{
    TrnFw *fw = d->fw;
    uint32_t header = *trn_fw_word(fw, TRN_MISC_MBOX_HEADER);
    uint32_t size = TRN_MSG_SIZE(header);
    uint8_t buf[TRN_MSG_REQUEST_HDR_SIZE + TRN_FW_MAX_ANSWER];
    TrnAnswer a = { .max = TRN_MISC_MBOX_DATA_SIZE };
    int error = TRN_MSG_FAILED;

    *trn_fw_word(fw, TRN_MISC_MBOX_ACK) = 0;
    if (!TRN_MSG_SEQ(header)) {
        qemu_log_mask(LOG_GUEST_ERROR, "trainium: message without sequence\n");
        return;
    }
    if (size >= TRN_MSG_REQUEST_HDR_SIZE &&
        size <= TRN_MSG_REQUEST_HDR_SIZE + TRN_MISC_MBOX_DATA_SIZE) {
        stl_le_p(buf, header);
        stl_le_p(buf + 4, *trn_fw_word(fw, TRN_MISC_MBOX_CRC));
        for (unsigned i = 0; i < TRN_MISC_MBOX_DATA_SIZE; i += 4) {
            stl_le_p(buf + TRN_MSG_REQUEST_HDR_SIZE + i,
                     *trn_fw_word(fw, TRN_MISC_MBOX_DATA + i));
        }
        error = trn_fw_request(d, buf, size, &a);
    } else {
        qemu_log_mask(LOG_GUEST_ERROR, "trainium: message of %u bytes in the "
                      "RAM mailbox\n", size);
    }

    header = TRN_MSG_HEADER(TRN_MSG_SEQ(header), (uint32_t)error,
                            TRN_MSG_RAM_RESPONSE_HDR_SIZE + a.len);
    stl_le_p(buf, header);
    stl_le_p(buf + 4, 0);
    memcpy(buf + TRN_MSG_RAM_RESPONSE_HDR_SIZE, a.data, a.len);
    /* The last word's spare bytes are 0. */
    memset(buf + TRN_MSG_RAM_RESPONSE_HDR_SIZE + a.len, 0, 4);
    for (unsigned i = 0; i < a.len; i += 4) {
        *trn_fw_word(fw, TRN_MISC_MBOX_DATA + i) =
            ldl_le_p(buf + TRN_MSG_RAM_RESPONSE_HDR_SIZE + i);
    }
    *trn_fw_word(fw, TRN_MISC_MBOX_CRC) =
        trn_fw_crc(d, buf, TRN_MSG_RAM_RESPONSE_HDR_SIZE + a.len);
    *trn_fw_word(fw, TRN_MISC_MBOX_HEADER) = header;
    trn_ext_event(d, TRN_EXT_ENGINE_DEVICE, TRN_EXT_DEVICE_SLOT_MESSAGE);
}

static bool trn_fw_buffer_ok(TrnDevice *d, uint64_t addr, uint64_t len)
{
    TrnTarget t;

    return trn_axi_resolve(d, addr, &t) && t.len >= len &&
           (t.kind == TRN_TARGET_HOST || t.kind == TRN_TARGET_RAM);
}

static void trn_fw_host_message(TrnDevice *d, uint64_t req_addr,
                                uint64_t resp_addr)
{
    g_autofree uint8_t *req = NULL;
    uint8_t header[TRN_MSG_REQUEST_HDR_SIZE], answered;
    TrnAnswer a = { .max = TRN_FW_MAX_ANSWER };
    uint8_t resp[TRN_MSG_RESPONSE_HDR_SIZE + TRN_FW_MAX_ANSWER];
    int error = TRN_MSG_FAILED;
    uint32_t size;

    if (!trn_fw_buffer_ok(d, req_addr, sizeof(header)) ||
        !trn_fw_buffer_ok(d, resp_addr, sizeof(resp)) ||
        !trn_axi_read(d, req_addr, header, sizeof(header)) ||
        !trn_axi_read(d, resp_addr, &answered, 1)) {
        qemu_log_mask(LOG_GUEST_ERROR, "trainium: message buffers 0x%" PRIx64
                      ", 0x%" PRIx64 " are not memory\n", req_addr, resp_addr);
        return;
    }
    if (!header[0] || header[0] == answered) {
        return;                 /* a doorbell for something else */
    }
    size = lduw_le_p(header + 2);
    if (size >= TRN_MSG_REQUEST_HDR_SIZE &&
        trn_fw_buffer_ok(d, req_addr, size)) {
        req = g_malloc(size);
        if (!trn_axi_read(d, req_addr, req, size)) {
            qemu_log_mask(LOG_GUEST_ERROR, "trainium: message at 0x%" PRIx64
                          " is not readable\n", req_addr);
            return;
        }
        /* What was checked counts, whatever the host does to it meanwhile. */
        memcpy(req, header, sizeof(header));
        error = trn_fw_request(d, req, size, &a);
    } else {
        qemu_log_mask(LOG_GUEST_ERROR, "trainium: message of %u bytes\n", size);
    }

    resp[1] = error;
    stw_le_p(resp + 2, TRN_MSG_RESPONSE_HDR_SIZE + a.len);
    memcpy(resp + TRN_MSG_RESPONSE_HDR_SIZE, a.data, a.len);
    if (!trn_axi_write(d, resp_addr + 1, resp + 1,
                       TRN_MSG_RESPONSE_HDR_SIZE - 1 + a.len)) {
        qemu_log_mask(LOG_GUEST_ERROR, "trainium: response at 0x%" PRIx64
                      " is not writable\n", resp_addr);
        return;
    }
    if (d->fw->phase == TRN_FW_BOOT) {
        return;                 /* the write was a reset */
    }
    smp_wmb();      /* the sequence number says that all the rest is there */
    trn_axi_write(d, resp_addr, header, 1);
    trn_ext_event(d, TRN_EXT_ENGINE_DEVICE, TRN_EXT_DEVICE_SLOT_MESSAGE);
}

void trn_fw_mailbox(TrnDevice *d)
{
    TrnFw *fw = d->fw;
    uint64_t req, resp;

    if (trn_fw_prop(d, TRN_FWP_API_VERSION) >= TRN_FW_API_MAILBOX &&
        *trn_fw_word(fw, TRN_MISC_MBOX_ACK) == 1) {
        trn_fw_ram_message(d);
        return;
    }
    req = (uint64_t)*trn_fw_word(fw, TRN_MISC_REQUEST_HI) << 32 |
          *trn_fw_word(fw, TRN_MISC_REQUEST_LO);
    resp = (uint64_t)*trn_fw_word(fw, TRN_MISC_RESPONSE_HI) << 32 |
           *trn_fw_word(fw, TRN_MISC_RESPONSE_LO);
    if (req && resp) {
        memset(trn_fw_word(fw, TRN_MISC_REQUEST_HI), 0, 16);
        trn_fw_host_message(d, req, resp);
    }
}
