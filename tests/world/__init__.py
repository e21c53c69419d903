"""A small internet for tests: two network namespaces of their own, which nothing can leave.

`inside` is where Sift and its command run; `outside` holds every address there is, with servers that do whatever a test
tells them to, black holes and a name server. Only the addresses, the name server, the certificate authorities and the
files in `/etc` are made up: Sift itself runs as it is shipped.
"""
