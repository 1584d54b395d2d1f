# Both programs, static, in a small image whose user is not root.
#
#     docker build -t dsdata .
#     docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" dsdata dsdata build enwiki.xml.bz2
#     docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" dsdata dstrain --shards enwiki --model tiny
#
# tests/flow/docker.sh executes these instructions without docker, and supports no others.
FROM debian:12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
        gcc libc6-dev cmake ninja-build pkg-config \
        libbz2-dev zlib1g-dev libzstd-dev liblzma-dev libexpat1-dev libutf8proc-dev libjansson-dev libxxhash-dev
COPY . /source
RUN cmake -G Ninja -S /source -B /build -DDS_STATIC=ON -DBUILD_TESTING=OFF -DCMAKE_BUILD_TYPE=Release \
    && cmake --build /build \
    && cmake --install /build --prefix /installed --strip

FROM debian:12-slim
COPY --from=build /installed /usr/local
RUN useradd --create-home --uid 1000 dsdata
ENV LANG=C.UTF-8
USER dsdata
WORKDIR /data
CMD ["dsdata", "--help"]
