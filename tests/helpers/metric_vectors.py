"""The synthetic pictures A..F whose metric values were published with the definitions; 256x256x3 uint8."""

import numpy as np

Y, X = np.mgrid[0:256, 0:256].astype(np.uint64)
MOD = np.uint64(0xFFFFFFFF)
WAVES = ((97, 61, 0, 30, 70), (83, 71, 1, 50, 130), (59, 89, 2, 45, 120))  # px, py, phase, amplitude, offset


def noise(channel):
    v = (np.uint64(1103515245) * X + np.uint64(12345) * Y + np.uint64(2654435761 * channel)) & MOD
    v ^= v >> np.uint64(13)
    v = (np.uint64(1274126177) * v) & MOD
    v ^= v >> np.uint64(16)
    return (v & np.uint64(255)).astype(np.float64)


def wave(channel):
    px, py, phase, amplitude, offset = WAVES[channel]
    return offset + amplitude * np.sin(2 * np.pi * (X / px + Y / py) + phase)


def to_bytes(planes):
    return np.clip(np.floor(np.stack(planes, axis=-1) + 0.5), 0, 255).astype(np.uint8)


def smooth_noise(channel):
    shifts = [(dy, dx) for dy in range(-2, 3) for dx in range(-2, 3)]
    return sum(np.roll(noise(channel), shift, axis=(0, 1)) for shift in shifts)


A = np.stack([X, Y, (X + Y) // 2], axis=-1).astype(np.uint8)
B = np.stack([noise(c) for c in range(3)], axis=-1).astype(np.uint8)
C = to_bytes([wave(c) + (noise(c) - 127.5) / 8 for c in range(3)])
D = C.copy()
D[64:128, 64:128] = 0
D[160:200, 32:96] = (200, 60, 20)
E = np.floor(0.6 * C + 40 + 0.5).astype(np.uint8)
F = to_bytes([wave(c) + 2 * (smooth_noise(c) - 3187.5) / 25 for c in range(3)])

PICTURES = {"A": A, "B": B, "C": C, "D": D, "E": E, "F": F}
