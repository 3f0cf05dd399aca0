/* example.c - tells a list something, and says what became of it.
 *
 *     cc example.c $(pkg-config --cflags --libs libpeal) -o tell
 *     ./tell /var/lib/peal/site.db ops "It is hot"
 */
#include <peal.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s STORE LIST TEXT\n", argv[0]);
        return 2;
    }
    char id[PEAL_ID_SIZE] = "";
    PealStatus status;
    PealNotification notification = { .list = argv[2], .body = argv[3], .script = "example" };
    Peal *peal = peal_open(argv[1]);
    if (!peal) {
        perror("peal_open");
        return 1;
    }
    PealResult result = peal_notify(peal, &notification, id);
    if (result == PEAL_OK)
        puts(id);
    else if (result == PEAL_FAILED)
        perror(peal_result_text(result));
    else
        fprintf(stderr, "%s\n", peal_result_text(result));
    if (result == PEAL_OK && peal_status(peal, id, &status) == PEAL_OK)
        printf("%s%s\n", status.status, status.is_stale ? ", as far as is known" : "");
    peal_close(peal);
    return result == PEAL_OK ? 0 : 1;
}
