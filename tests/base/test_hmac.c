/* HMAC-SHA-256 of the examples of RFC 4231, section 4. */
#include "base/sha256.h"
#include "tests/unit.h"

static struct str repeat(char *to, int byte, size_t size)
{
    memset(to, byte, size);
    return (struct str){to, size};
}

static void expect(struct str key, struct str message, const char *wanted)
{
    unsigned char mac[HMAC_BYTES];
    char text[2 * HMAC_BYTES + 1];
    hmac_sha256(key, message, mac);
    hex_write(mac, sizeof mac, text);
    text[strlen(wanted)] = '\0'; /* one example is cut */
    assert_string_equal(text, wanted);
}

TEST(the_examples_of_the_standard)
{
    char key[200], message[200];
    expect(repeat(key, 0x0b, 20), STR("Hi There"), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    expect(STR("Jefe"), STR("what do ya want for nothing?"),
           "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    expect(repeat(key, 0xaa, 20), repeat(message, 0xdd, 50),
           "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    for (int i = 0; i < 25; i++)
        key[i] = (char)(i + 1);
    expect((struct str){key, 25}, repeat(message, 0xcd, 50),
           "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
    expect(repeat(key, 0x0c, 20), STR("Test With Truncation"), "a3b6167473100ee06e0c796c2955552b");
    expect(repeat(key, 0xaa, 131), STR("Test Using Larger Than Block-Size Key - Hash Key First"),
           "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    expect(repeat(key, 0xaa, 131),
           STR("This is a test using a larger than block-size key and a larger than block-size data. The key needs to "
               "be hashed before being used by the HMAC algorithm."),
           "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

/* Keys of exactly a block and one byte more; computed with Python's hmac. */
TEST(keys_around_a_block)
{
    char key[65];
    expect(repeat(key, 'k', 64), STR(""), "83026a325aaee70e36cfe607536aa1054104ad1077c36134810d4ccded1ccd3b");
    expect(repeat(key, 'k', 65), STR(""), "41f1c4cc3107cd5b8d92460f61032902bfdb06484eef17e861b83a5012d3b7f3");
    expect((struct str){NULL, 0}, STR(""), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(every_byte_is_compared)
{
    unsigned char a[HMAC_BYTES] = {0}, b[HMAC_BYTES] = {0};
    assert_true(hmac_same(a, b));
    for (size_t i = 0; i < 8 * sizeof a; i++) {
        b[i / 8] ^= (unsigned char)(1u << i % 8);
        assert_false(hmac_same(a, b));
        b[i / 8] = 0;
    }
}
